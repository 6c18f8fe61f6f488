"""How older databases become newer ones (Alembic); ``versions`` has one step a file."""
