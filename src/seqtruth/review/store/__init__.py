"""What is kept: decisions and everything around them, in SQLite or PostgreSQL."""
