"""Why a sentence of a summary should be read again, in words: what its checks say of it."""

from collections.abc import Iterator

from dialogist.records import Statement, Summary


def doubt_of(statement: Statement, summary: Summary) -> str:
    """What speaks against a sentence, empty where nothing does."""
    return "; ".join(dict.fromkeys(_doubts(statement, summary)))


def _doubts(statement: Statement, summary: Summary) -> Iterator[str]:
    for warning in summary.warnings:
        if warning.start >= 0 and warning.start < statement.end and warning.end > statement.start:
            yield warning.message
