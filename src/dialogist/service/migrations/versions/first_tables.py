"""The first tables: keys, sessions, batches, idempotency, audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.String(200), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("revoked", sa.Float),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
    )
    op.create_table(
        "batches",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("created", sa.Float, nullable=False, index=True),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("options", sa.JSON, nullable=False),
    )
    op.create_table(
        "batch_items",
        sa.Column(
            "batch_id",
            sa.String(32),
            sa.ForeignKey("batches.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("owner", sa.String(32), nullable=False),
        sa.Column("lease", sa.Float, nullable=False),
        sa.Column("dialogue", sa.JSON),
        sa.Column("result", sa.JSON),
    )
    op.create_index("batch_items_state", "batch_items", ["state", "lease"])
    op.create_table(
        "idempotency",
        sa.Column("key_id", sa.String(32), primary_key=True),
        sa.Column("value", sa.String(128), primary_key=True),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(32), nullable=False),
        sa.Column("created", sa.Float, nullable=False, index=True),
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False, index=True),
        sa.Column("key_id", sa.String(32), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(32), nullable=False),
    )


def downgrade() -> None:
    """Drop the tables."""
    for name in ("audit", "idempotency", "batch_items", "batches", "sessions", "keys"):
        op.drop_table(name)
