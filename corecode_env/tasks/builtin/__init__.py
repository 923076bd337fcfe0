"""Data sets that travel with the package, with their licences."""
