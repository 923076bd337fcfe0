"""Environments: the games. Teams of roles on one engine."""
