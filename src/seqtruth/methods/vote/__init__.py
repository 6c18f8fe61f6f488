"""Weighted votes: losses, weights, a vote and a legal path."""
