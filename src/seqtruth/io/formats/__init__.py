"""The formats of annotation tools, one a file: how to tell it, how to read it, how to write it."""
