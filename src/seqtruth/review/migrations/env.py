"""Alembic's door: run by :class:`seqtruth.review.store.database.Database` on a connection that is open."""

from alembic import context

from seqtruth.review.store.schema import metadata


def run() -> None:
    """Bring the database of the connection to the newest schema."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if hasattr(context, "config"):  # Alembic is running; else somebody only looks
    run()
