"""Where alembic gets its connection: from the store that is being opened."""

from alembic import context

from dialogist.service.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
