"""Rewards: from judgement to numbers, per agent and turn."""
