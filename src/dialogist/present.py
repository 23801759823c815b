"""Summaries as they are asked for: in a template, masked, and as text or Markdown."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from dialogist import __version__
from dialogist.errors import DataError, UsageError
from dialogist.files import sha256_of
from dialogist.model_folder.model_files import find_model
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.isolation import failed
from dialogist.pipeline.summarizer import EndpointSummarizer, Summarizer
from dialogist.records import JSON, Dialogue, Entity, EvidenceSpan, MaskStage, Statement, Summary
from dialogist.highlights.network import BUNDLED
from dialogist.forms.filled import (
    DOUBTED,
    SHOWN,
    Cited,
    Filled,
    as_markdown,
    as_text,
    cited_of,
    doubt_of,
    fields_cited,
    filled_to_json,
    plain,
    printable,
    quotation,
    quotes_of,
    shown_of,
)
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.privacy.masks import MaskTable
    from dialogist.privacy.packs import Privacy
    from dialogist.forms.template_config import Template

# What is done to a summary on request: focus, names and roles, a template.
#
# The order matters: focus and template read the dialogue by its own names, renaming comes last.


_QUOTED = 3  # utterances shown for a statement, at most


@dataclass(frozen=True, slots=True)
class PresentedSummary:
    """A summary as it was asked for; ``filled`` if a template was; ``notes`` for stderr.

    ``quotes`` has what was said for each sentence, or where there are none for each key point.
    ``with_evidence``: text output shows them, and what the checks say. ``with_labels``: text and
    Markdown name the key points. ``cited``: the dialogue whose texts evidence has its places in.
    """

    summary: Summary
    filled: Filled | None = None
    notes: tuple[str, ...] = ()
    quotes: tuple[tuple[Cited, ...], ...] = ()
    with_evidence: bool = True
    with_labels: bool = False
    cited: Dialogue = field(default_factory=lambda: Dialogue(()))

    @property
    def kinds(self) -> set[str]:
        """The kinds of the statements that are shown."""
        if self.filled is None:
            return {one.kind for one in _shown(self.summary)}
        sections = self.filled.sections
        return {entry.kind for section in sections for entry in section.entries}

    @property
    def stated(self) -> list[tuple[Statement, tuple[Cited, ...]]]:
        """The statements to show, each with its quotes."""
        return list(zip(_shown(self.summary), self.quotes, strict=True))

    def to_json(self) -> dict[str, object]:
        """The summary as JSON values; beside it ``filled``, its template, and ``utterances``.

        These are what evidence refers to, where the input has other texts or other numbers.
        """
        written: dict[str, object] = {**self.summary.to_json()}
        said = self.cited.utterances
        is_told = self.with_evidence and self.summary.status != "error"
        if said and is_told and not self.cited.is_verbatim:
            written["utterances"] = [{"speaker": u.speaker, "text": u.text} for u in said]
        if self.filled is not None:
            written["filled"] = filled_to_json(self.filled)
        return written


@dataclass(frozen=True, slots=True)
class PresentOptions:
    """The options of one call; see `present_options_of`."""

    template: "Template | None" = None
    focus: str | None = None
    perspective: str | None = None
    names: Mapping[str, str] | None = None
    with_evidence: bool = True

    def to_json(self) -> dict[str, JSON]:
        """What is asked for, as plain values."""
        template = self.template.model_dump(mode="json") if self.template is not None else None
        names: dict[str, JSON] = {**(self.names or {})}
        return {
            "template": template,
            "focus": self.focus,
            "perspective": self.perspective,
            "names": names,
            **({} if self.with_evidence else {"evidence": False}),
        }

    def apply(self, summary: Summary, dialogue: Dialogue) -> PresentedSummary:
        """PresentOptions one summary of one dialogue, whose names are still the dialogue's own.

        Raises:
            UsageError: ``focus`` or an old name is nobody's in this dialogue.
        """
        notes: tuple[str, ...] = ()
        if self.focus is not None:
            from dialogist.forms.perspective import check_speaker, focus  # seldom asked for

            check_speaker(self.focus, dialogue)
            if any(one.kind == "free" for one in _shown(summary)):  # others are chosen for it
                summary, notes = focus(summary, dialogue, self.focus)
        filled = None
        if self.template is not None:
            from dialogist.forms.fill import fill  # its rules take a while to load

            filled = fill(summary, dialogue, self.template, self.names, self.focus)
            if not self.with_evidence:
                filled = filled.without_evidence()
                bare = tuple(replace(one, evidence=()) for one in summary.sentences)
                summary = replace(summary, sentences=bare)
        quotes = _quotes(summary, dialogue)
        if self.perspective is not None or self.names:
            from dialogist.forms.perspective import names_for, rename, rename_filled

            names, unknown = names_for(self.names or {}, self.perspective, dialogue)
            if names:
                summary = rename(summary, names)
                filled = rename_filled(filled, names) if filled is not None else None
            quotes, notes = _respoken(quotes, names), (*notes, *unknown)
        return PresentedSummary(summary, filled, notes, quotes, self.with_evidence)


def _shown(summary: Summary) -> tuple[Statement, ...]:
    return summary.sentences or summary.key_points


def _quotes(summary: Summary, dialogue: Dialogue) -> tuple[tuple[Cited, ...], ...]:
    """What was said for each statement."""
    said = cited_of(dialogue.utterances)
    return tuple(
        tuple(quotes_of(statement.evidence, said, _QUOTED, statement.kind == "free"))
        for statement in _shown(summary)
    )


def _respoken(
    quotes: tuple[tuple[Cited, ...], ...], names: Mapping[str, str]
) -> tuple[tuple[Cited, ...], ...]:
    """The quotes with their speakers by the new names."""
    return tuple(
        tuple(replace(one, speaker=names.get(one.speaker, one.speaker)) for one in row)
        for row in quotes
    )


# Dialogues on their way in, summaries on their way out: masked, and in the form asked for.


Placed = TypeVar("Placed", EvidenceSpan, Entity)


class Presenter:
    """Sees each dialogue before the model and its summary afterwards, in the same order."""

    def __init__(
        self,
        shape: PresentOptions,
        mask: MaskStage | None,
        names: str,
        note: Callable[[str], None],
        strict: bool = False,
    ) -> None:
        """Take the options of one call.

        ``names``: whose are masked, see `privacy_of`. ``note`` is told what could not be shown.
        ``strict``: the first failure ends it all.

        Raises:
            UsageError: there is no such choice of names, or nothing is masked.
        """
        if mask is None and names != "none":
            raise UsageError("--mask-names has an effect with --mask only")
        self._shape, self._mask = shape, mask
        self._privacy = None if mask is None else _privacy_of(names)
        self._note, self._strict = note, strict
        self._waiting: deque[_Waiting] = deque()
        self._unshown = 0
        self._failed = 0
        self._personal_ids = 0

    def mask_inputs(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """What the model shall read; nothing of a dialogue that could not be masked."""
        for dialogue in dialogues:
            try:
                waiting = self._prepared(dialogue)
            except Exception as error:  # a bug of ours: the others go on
                unread = Dialogue((), dialogue.id)
                waiting = _Waiting(unread, failure=failed(dialogue, error))
            self._waiting.append(waiting)
            yield waiting.dialogue

    def present(self, summaries: Iterable[Summary]) -> Iterator[PresentedSummary]:
        """The summaries as they are to be shown.

        One whose dialogue has no such speaker as a flag names is told, left out and counted: it
        must not stop all others. What else goes wrong is that summary's status ``error``.

        Raises:
            DataError: something went wrong, and the call is ``strict``.
        """
        for summary in summaries:
            waiting = self._waiting.popleft()
            try:
                presented = self._shaped(summary, waiting)
            except UsageError as error:
                self._unshown += 1
                self._note(f"{summary.id}: {error}")
                continue
            except Exception as error:  # a bug of ours: the others go on
                presented = PresentedSummary(failed(waiting.dialogue, error, summary.model))
            if presented.summary.status == "error":
                self._failed += 1
                if self._strict:
                    raise DataError(f"{summary.id}: {presented.summary.reason}")
            yield replace(
                presented, cited=waiting.masked[0] if waiting.masked else waiting.dialogue
            )

    def finish(self) -> int:
        """Say how many summaries failed or could not be shown as asked; the exit code."""
        if self._unshown:
            count = counted(self._unshown, "summaries")
            self._note(f"{count} could not be shown as asked; the others are done")
        if self._failed:
            count = counted(self._failed, "dialogues")
            self._note(f"{count} failed (status error); the others are done")
        if self._personal_ids:
            count = counted(self._personal_ids, "ids")
            self._note(
                f"{count} with personal data left as they are (transcripts: the name of the file): "
                "rename the files, or summarize what dialogist mask writes"
            )
        return 3 if self._unshown or self._failed else 0

    def _prepared(self, dialogue: Dialogue) -> "_Waiting":
        if self._privacy is None:
            return _Waiting(dialogue)
        from dialogist.privacy.masking import mask_dialogue, masked_id

        masked, table = mask_dialogue(dialogue, self._privacy)
        self._personal_ids += masked_id(dialogue.id, self._privacy, table) != dialogue.id
        # A template quotes the dialogue: it gets the masked one.
        whole = self._mask == "input" or self._shape.template is not None
        return _Waiting(masked if whole else dialogue, (masked, table))

    def _shaped(self, summary: Summary, waiting: "_Waiting") -> PresentedSummary:
        if waiting.failure is not None or summary.status == "error":
            return PresentedSummary(waiting.failure or summary)
        presented = self._shape.apply(summary, waiting.dialogue)
        if self._privacy is None or waiting.masked is None:
            return presented
        return _masked(presented, waiting.dialogue, waiting.masked, self._privacy)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A dialogue as the model reads it, until its summary comes; or why the model does not."""

    dialogue: Dialogue
    masked: "tuple[Dialogue, MaskTable] | None" = None
    failure: Summary | None = None


def _privacy_of(names: str) -> "Privacy":
    from dialogist.privacy.packs import privacy_of

    return privacy_of(names=names)


def _masked(
    presented: PresentedSummary,
    read: Dialogue,
    by: "tuple[Dialogue, MaskTable]",
    privacy: "Privacy",
) -> PresentedSummary:
    """The summary with masks; evidence and entities have their places in the masked dialogue."""
    from dialogist.privacy.masking import mask_summary
    from dialogist.privacy.masks import mask_text

    masked, table = by
    said = [table.masked(n, u.text, read is masked) for n, u in enumerate(masked.utterances)]

    def placed(one: Placed) -> Placed:
        start, end = said[one.utterance].around(one.start, one.end)
        return replace(one, start=start, end=end)

    def cited(one: Statement) -> Statement:
        return replace(one, evidence=tuple(map(placed, one.evidence)))

    summary, _ = mask_summary(presented.summary, privacy, table)
    summary = replace(
        summary,
        key_points=tuple(map(cited, summary.key_points)),
        sentences=tuple(map(cited, summary.sentences)),
        entities=tuple(map(placed, summary.entities)),
    )

    def shown(quote: Cited, statement: Statement) -> Cited:
        spans = (span for span in statement.evidence if span.utterance == quote.number)
        return replace(
            quote,
            speaker=mask_text(quote.speaker, privacy, table)[0].text,
            text=shown_of(
                said[quote.number].text,
                [(span.start, span.end) for span in spans],
                statement.kind == "free",
            ),
        )

    quotes = tuple(
        tuple(shown(quote, statement) for quote in row)
        for statement, row in zip(_shown(summary), presented.quotes, strict=True)
    )
    return replace(presented, summary=summary, quotes=quotes)


# A summary as text and as Markdown: each sentence with what was said, and what to check.


_BELOW = "    "


def text_of(shown: PresentedSummary) -> Iterator[str]:
    """One summary's lines; without evidence its text alone, for pipes."""
    summary = shown.summary
    if shown.filled is not None:
        yield as_text(shown.filled)
    elif not shown.with_evidence:
        points = summary.key_points if shown.with_labels else ()
        yield from (f"[{printable(point.label)}] {_line(point)}\n" for point in points)
        yield f"{_multiline(summary.text)}\n" if summary.text and not points else ""
    else:
        for statement, quotes in shown.stated:
            yield from (f"{line}\n" for line in _lines(statement, quotes, shown))
        if summary.text and not shown.stated:
            yield f"{_multiline(summary.text)}\n"
    yield from (f"{_multiline(text)}\n" for text in summary.alternatives)
    tells = summary.status == "error" or (shown.with_evidence and shown.filled is None)
    if tells and summary.status != "ok":
        yield f"{chr(10) if summary.text else ''}Status: {_status(summary)}\n"


def _lines(
    statement: Statement, quotes: tuple[Cited, ...], whole: PresentedSummary
) -> Iterator[str]:
    doubt = doubt_of(statement, whole.summary)
    label = _label(statement, whole)
    shown = f"[{printable(label)}] " if label else ""
    kind = SHOWN[statement.kind]
    cited = fields_cited(statement.profile, printable)
    yield f"{f'{DOUBTED} ' if doubt else ''}{shown}{_line(statement)} ({kind}){cited}"
    if doubt:
        yield f"{_BELOW}check this: {printable(doubt)}"
    yield from (f"{_BELOW}{quotation(quote)}" for quote in _beside(statement, quotes))


def markdown_of(shown: PresentedSummary) -> Iterator[str]:
    """One summary as Markdown under a heading; nothing that was said is markup."""
    summary = shown.summary
    if shown.filled is None:
        yield f"## {plain(summary.id) or 'Dialogue'}\n\n"
    if shown.filled is not None:
        yield as_markdown(shown.filled).rstrip("\n") + "\n\n"
    else:
        for statement, quotes in shown.stated:
            yield from (f"{line}\n" for line in _items(statement, quotes, shown))
        if summary.text and not shown.stated:
            yield f"{plain(summary.text)}\n"
        yield "\n"
    for text in summary.alternatives:
        yield f"*or:* {plain(text)}\n\n"
    if summary.status != "ok":
        yield f"> **Status: {plain(_status(summary))}**\n\n"
    unplaced = (warning for warning in summary.warnings if warning.start < 0)
    for warning in unplaced:  # the others stand below their sentences
        yield f"> **Note:** {plain(warning.message)}\n\n"


def _items(
    statement: Statement, quotes: tuple[Cited, ...], whole: PresentedSummary
) -> Iterator[str]:
    doubt = doubt_of(statement, whole.summary)
    label = _label(statement, whole)
    shown = f"**{plain(label)}**: " if label else ""
    kind = SHOWN[statement.kind]
    cited = fields_cited(statement.profile, plain)
    yield f"- {f'{DOUBTED} ' if doubt else ''}{shown}{plain(statement.text)} *({kind})*{cited}"
    if doubt:
        yield f"{_BELOW}- *check this: {plain(doubt)}*"
    for quote in _beside(statement, quotes):
        speaker = f"**{plain(quote.speaker)}**: " if quote.speaker else ""
        yield f'{_BELOW}- [{quote.number + 1}] {speaker}"{plain(quote.text)}"'


def _beside(statement: Statement, quotes: tuple[Cited, ...]) -> Iterator[Cited]:
    """Yield the quotes whose words a quoted statement does not hold already."""
    is_quoted = statement.kind == "quoted"
    yield from (one for one in quotes if not (is_quoted and one.is_within(statement.text)))


def _label(statement: Statement, whole: PresentedSummary) -> str:
    """The key point that a statement begins, where key points are named."""
    summary = whole.summary
    if not whole.with_labels:
        return ""
    points = (p for p in summary.key_points if p.start <= statement.start < p.end)
    point = next(points, None)
    if point is None:
        return statement.label
    first = next(s for s in (*summary.sentences, point) if point.start <= s.start < point.end)
    return point.label if first.start == statement.start else ""


def _status(summary: Summary) -> str:
    words = summary.status.replace("_", " ")
    return f"{words}: {printable(summary.reason)}" if summary.reason else words


def _line(statement: Statement) -> str:
    return printable(statement.text)


def _multiline(text: str) -> str:
    """The text in its own lines, without characters that steer a terminal."""
    return "\n".join(map(printable, text.split("\n")))


# What a file of summaries depends on.


def settings_of(
    summarizer: Summarizer,
    model: str,
    options: SummaryOptions,
    shape: PresentOptions,
    mask: tuple[str | None, str],
) -> dict[str, JSON]:
    """Everything but the dialogues that the summaries of a call depend on."""
    writes = options.style == "free"
    weights = BUNDLED
    if writes and not isinstance(summarizer, EndpointSummarizer):
        weights = find_model(model) / "model.safetensors"
    return {
        "schema_version": 1,
        "dialogist": __version__,
        "model": summarizer.name,
        "weights": sha256_of(weights),
        "precision": summarizer.precision if writes else None,
        "options": options.model_dump(mode="json"),
        "shape": shape.to_json(),
        "mask": list(mask),
    }
