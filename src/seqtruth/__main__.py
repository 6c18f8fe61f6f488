"""``python -m seqtruth`` is ``seqtruth``."""

from seqtruth.cli import main

main()
