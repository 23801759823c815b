"""Why a sentence of a summary should be read again, in words: what its checks say of it."""

from collections.abc import Iterator

from dialogist.records import Statement, Summary

_UNSURE = 0.6  # confidence: below it four sentences of five were wrong when read one by one


def doubt_of(statement: Statement, summary: Summary) -> str:
    """What speaks against a sentence, empty where nothing does."""
    return "; ".join(dict.fromkeys(_doubts(statement, summary)))


def _doubts(statement: Statement, summary: Summary) -> Iterator[str]:
    for warning in summary.warnings:
        if warning.start >= 0 and warning.start < statement.end and warning.end > statement.start:
            yield warning.message
    if statement.confidence is not None and statement.confidence < _UNSURE:
        yield f"the model was not sure of it (confidence {statement.confidence:.2f})"
    if not statement.evidence and any(one.evidence for one in summary.sentences):
        yield "no utterance supports it"
