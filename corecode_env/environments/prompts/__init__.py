"""Prompt templates, one file a role."""
