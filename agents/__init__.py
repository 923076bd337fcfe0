"""Agents: who speaks. Each answers requests with text."""

if __name__ == "agents":  # the repository's root is on sys.path
    raise ImportError(
        "this folder is imported as 'corecode_env.agents', not as 'agents'; "
        "write 'from corecode_env.agents import ...'. If you wanted another "
        "distribution that is also called 'agents', start Python in another folder."
    )

from corecode_env.agents.chat_api import OpenAIAgent
from corecode_env.agents.faults import FAULTS
from corecode_env.agents.faulty import FaultyAgent
from corecode_env.agents.human import HumanAgent
from corecode_env.agents.names import AGENTS, make_agent
from corecode_env.agents.random_text import RandomAgent
from corecode_env.agents.reference import ReferenceAgent
from corecode_env.agents.scripted import ScriptedAgent
from corecode_env.core.calling import FunctionAgent, as_agent

__all__ = [
    "AGENTS",
    "FAULTS",
    "FaultyAgent",
    "FunctionAgent",
    "HumanAgent",
    "OpenAIAgent",
    "RandomAgent",
    "ReferenceAgent",
    "ScriptedAgent",
    "as_agent",
    "make_agent",
]
