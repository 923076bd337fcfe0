"""Algorithms: who learns. Readable loops over pure formulas."""

if __name__ == "algorithms":  # the repository's root is on sys.path
    raise ImportError(
        "this folder is imported as 'corecode_env.algorithms', not as 'algorithms'; "
        "write 'from corecode_env.algorithms import ...'. If you wanted another "
        "distribution that is also called 'algorithms', start Python in another folder."
    )
