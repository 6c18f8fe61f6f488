"""CoNLL columns: one file, or a folder with one an annotator."""
