"""Core: the nouns and the seams. Plain data, Protocols, errors; no behaviour, no IO.

Every other room imports from here, and core imports from none of them.
"""
