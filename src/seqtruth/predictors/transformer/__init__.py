"""Any Hugging Face encoder (extra ``transformers``)."""
