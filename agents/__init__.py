"""Agents: who speaks. Each answers requests with text."""

if __name__ == "agents":  # the repository's root is on sys.path
    raise ImportError(
        "this folder is imported as 'corecode_env.agents', not as 'agents'; "
        "write 'from corecode_env.agents import ...'. If you wanted another "
        "distribution that is also called 'agents', start Python in another folder."
    )
