"""The fixtures of the readers' tests, for readers of the laboratory."""

from tests.formats.conftest import notes, problems, read

__all__ = ["notes", "problems", "read"]
