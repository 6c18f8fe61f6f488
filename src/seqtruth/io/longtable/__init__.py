"""Long tables, one row per token and annotator: the only packer."""
