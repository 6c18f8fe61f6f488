"""Everything compiled, behind plain functions over arrays."""
