"""Reviews, and feedback on summaries."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "reviews",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("created", sa.Float, nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("dialogue", sa.JSON),
        sa.Column("summary", sa.JSON),
    )
    op.create_table(
        "feedback",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("key_id", sa.String(32), sa.ForeignKey("keys.id"), nullable=False),
        sa.Column("created", sa.Float, nullable=False, index=True),
        sa.Column("verdict", sa.String(16), nullable=False, index=True),
        sa.Column("edits", sa.JSON, nullable=False),
        sa.Column("content", sa.JSON),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("feedback")
    op.drop_table("reviews")
