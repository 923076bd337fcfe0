"""Settings of vLLM in this process."""


class StructuredOutputsParams:
    """Not used here."""
