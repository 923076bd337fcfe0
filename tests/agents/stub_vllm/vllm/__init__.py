"""The few names of vLLM that TRL imports, for machines without a GPU."""

__version__ = "0.27.0"


class LLM:
    """Of vLLM in this process, which is not tested."""


class RequestOutput:
    """Of vLLM in this process."""


class SamplingParams:
    """Of vLLM in this process."""
