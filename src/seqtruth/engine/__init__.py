"""Where the data lives: crowds in parts, on one machine or many (see :mod:`seqtruth.engine.base`)."""

from seqtruth.engine.base import Facts, Labels, Parts, Sums, add

__all__ = ["Facts", "Labels", "Parts", "Sums", "add"]
