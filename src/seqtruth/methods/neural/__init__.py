"""Networks that learn from all annotators at once (extra ``torch``)."""
