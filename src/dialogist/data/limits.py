"""`Limits`: how much of a dialogue and of a summary becomes tokens."""

from pydantic import Field

from dialogist.config import Config


class Limits(Config):
    """What a model reads and writes at most, in its own tokens; None is no limit.

    ``source_tokens`` and ``summary_tokens`` count the begin and end symbols in. With
    ``keep_end`` a cut sequence still ends with the end symbol; the reports' padding function cuts
    it off instead (their models never see the end of a long summary). ``sub_summary_tokens`` bounds
    each sub-summary where references are cut by key points; its end symbol is not counted. With
    ``preparation.plan: prefix`` ``summary_tokens`` counts the plan in, which is two tokens for each
    key point.
    """

    utterance_tokens: int | None = Field(None, ge=1)
    utterances: int | None = Field(None, ge=1)
    source_tokens: int | None = Field(512, ge=3)
    summary_tokens: int | None = Field(128, ge=3)
    sub_summary_tokens: int | None = Field(None, ge=1)
    keep_end: bool = True

    @property
    def reads(self) -> str:
        """How much of a dialogue is read at most, for people."""
        return _said(
            (self.source_tokens, "tokens"),
            (self.utterances, "utterances"),
            (self.utterance_tokens, "tokens of an utterance"),
        )

    @property
    def writes(self) -> str:
        """How long a summary can be at most, for people."""
        return _said(
            (self.summary_tokens, "tokens"), (self.sub_summary_tokens, "tokens about a key point")
        )


def _said(*limits: tuple[int | None, str]) -> str:
    said = [f"{number} {what}" for number, what in limits if number is not None]
    return " and ".join(said) or "any number of tokens"
