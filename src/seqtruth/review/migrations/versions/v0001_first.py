"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables, written out, so that later changes of the schema do not change this step."""
    op.create_table(
        "project",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("corpus", sa.String(64), nullable=False),
        sa.Column("double", sa.Boolean, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "users",
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("password", sa.String(300), nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "states",
        sa.Column("sentence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("marks", sa.Text, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("batch", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("question", sa.String(40), nullable=False),
        sa.Column("sentence", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("undoes", sa.String(64)),
        sa.Column("foreseen", sa.Float, nullable=False),
        sa.Column("found", sa.Integer, nullable=False),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.UniqueConstraint("batch", "sentence", name="events_once"),
    )
    op.create_index("events_by_user", "events", ["user", "id"])
    op.create_index("events_by_sentence", "events", ["sentence", "id"])
    op.create_table(
        "leases",
        sa.Column("sentence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user", sa.String(100), nullable=False),
        sa.Column("question", sa.String(40), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
    op.create_table(
        "opinions",
        sa.Column("sentence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user", sa.String(100), primary_key=True),
        sa.Column("marks", sa.Text, nullable=False),
    )
    op.create_table(
        "skips",
        sa.Column("sentence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user", sa.String(100), primary_key=True),
    )
    op.create_table(
        "rounds",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("event", sa.Integer, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """There is nothing before the first tables."""
    raise NotImplementedError("there is nothing before the first tables")
