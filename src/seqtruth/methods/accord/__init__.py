"""The flagship and its parts."""
