"""The `corecode` command."""
