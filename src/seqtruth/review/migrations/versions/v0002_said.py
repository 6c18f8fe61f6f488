"""What a reviewer said in each decision, which is more than what followed from it where two are asked."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; older decisions have nothing in it."""
    op.add_column("events", sa.Column("said", sa.Text))


def downgrade() -> None:
    """Older versions of the program do not open newer databases."""
    raise NotImplementedError("older versions of the program do not open newer databases")
