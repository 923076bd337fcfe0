"""Rewards: from judgement to numbers, per agent and turn."""

from corecode_env.rewards.credit import (
    CreditRule,
    PaidStep,
    PerTurn,
    PotentialShaping,
    Split,
    shared,
    to_actor,
)
from corecode_env.rewards.paper_presets import mars2, solvita
from corecode_env.rewards.presets import (
    all_pass,
    corecode,
    corecode_efficiency,
    pass_rate,
    score,
)
from corecode_env.rewards.rewards import Rewards
from corecode_env.rewards.team_presets import corecode_team, helper_main
from corecode_env.rewards.terms import RewardFunction, Term

__all__ = [
    "CreditRule",
    "PaidStep",
    "PerTurn",
    "PotentialShaping",
    "RewardFunction",
    "Rewards",
    "Split",
    "Term",
    "all_pass",
    "corecode",
    "corecode_efficiency",
    "corecode_team",
    "helper_main",
    "mars2",
    "pass_rate",
    "score",
    "shared",
    "solvita",
    "to_actor",
]
