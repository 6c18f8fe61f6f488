"""A method, a predictor and a format that plug into SeqTruth by entry points (see pyproject.toml)."""
