"""Rollout: from play to data. Agents meet environments."""
