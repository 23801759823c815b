"""`Summarizer`: dialogues in, summaries out; all that commands, service and batch see of it."""

import hashlib
import logging
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from dialogist import __version__
from dialogist.errors import Declined, DialogistError, ModelError, UsageError
from dialogist.grounding import NO_ANSWER, ground, settle
from dialogist.language.detection import language_of
from dialogist.language.tokens import counted, words_in
from dialogist.records import (
    JSON,
    Coverage,
    Dialogue,
    Draft,
    EvidenceSpan,
    Sent,
    Statement,
    Status,
    Summary,
    SummaryOptions,
    Utterance,
    Warning,
    WriterOutput,
    check_kind,
    to_json,
)
from dialogist.writers import DRAFTED, SENT, Writer, open_verifier, open_writer

if TYPE_CHECKING:
    from dialogist.forms.fill import FilledForm
    from dialogist.forms.form_file import Form
    from dialogist.grounding.verification import Verifier
    from dialogist.privacy.masks import MaskTable
    from dialogist.privacy.packs import Privacy

LOGGER = logging.getLogger("dialogist")
"""Where failures are told, each with its traceback."""

FEWEST_WORDS = 6
"""A dialogue with fewer words is called too short. It is summarized all the same."""

_LANGUAGES = {"en": "English", "zh": "Chinese"}
_PACKAGE = Path(__file__).resolve().parent
_LONGEST = 200  # characters of an error's own message that are told: it may quote a whole dialogue


@dataclass(frozen=True, slots=True)
class Result:
    """A summary with what its evidence lies in, and the form that was filled from both.

    ``dialogue`` is the one that was read: its people as they are to be called, and masked where
    masks were asked for. ``notes`` are for whoever asked, such as a speaker without a role.
    """

    summary: Summary
    dialogue: Dialogue
    filled: "FilledForm | None" = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """The summary as JSON values; beside it ``filled``, its form, and ``utterances``.

        These are what evidence refers to, where the input has other texts or other numbers.
        """
        values = self.summary.to_json()
        has_evidence = any(statement.evidence for statement in self.summary.statements)
        if has_evidence and not self.dialogue.is_verbatim:
            values["utterances"] = [
                {"speaker": u.speaker, "text": u.text} for u in self.dialogue.utterances
            ]
        if self.filled is not None:
            values["filled"] = self.filled.to_json()
        return values


class Summarizer:
    """A writer, a verifier and a form. Many threads may call one summarizer at the same time.

    Example:
        >>> from dialogist import Dialogue, Summarizer
        >>> talk = Dialogue.from_text("Ann: Shall we have lunch at noon?\\nBo: Yes, at Luigi's.")
        >>> [summary] = Summarizer().summarize([talk])
        >>> summary.status
        'ready'
    """

    def __init__(
        self,
        writer: Writer | str = "highlights",
        verifier: "Verifier | str | None" = "auto",
        form: "Form | str | Path | None" = None,
    ) -> None:
        """``writer``: one, or its name (`dialogist.writers.open_writer`); ``form``: one, the name
        of a bundled one, or its file. ``verifier``: one, how (`dialogist.records.VerifyMode`:
        ``auto``, ``model``, ``local``, ``rules``), or the name of a writer that is a language
        model; without one what is not quoted is unverified.

        Raises:
            UsageError: there is no such writer.
            ConfigError: the form is at fault; names the line.
        """
        self.writer = open_writer(writer) if isinstance(writer, str) else writer
        _check_plugin("writer", self.writer, "write", name=str, licence=str, language=str)
        check_kind("writer: at_once", getattr(self.writer, "at_once", None), "a number", int)
        if verifier == "auto" and self.writer.name == "highlights":
            verifier = None  # its quotes are no claims
        elif isinstance(verifier, str):
            verifier = open_verifier(verifier, self.writer)
        if verifier is not None:
            _check_plugin("verifier", verifier, "verify")
        self.verifier: Verifier | None = verifier
        if form is not None:
            from dialogist.forms.form_file import Form, load_form  # takes a while to load

            form = load_form(form) if isinstance(form, str | Path) else form
            check_kind("form", form, "a Form, a name or a path", Form)
        self.form: Form | None = form
        asked = (getattr(asker, "chat", None) for asker in (self.writer, self.verifier))
        self.chats: list[Any] = [chat for chat in asked if chat is not None]
        """The language models that write and verify."""

    @property
    def at_once(self) -> int:
        """Dialogues at a time, in threads: as many as the writer or a model that is asked takes."""
        servers = [int(chat.config.at_once) for chat in self.chats if hasattr(chat, "config")]
        return max(1, self.writer.at_once, *servers)

    def summarize(
        self,
        dialogues: Iterable[Dialogue],
        options: SummaryOptions | None = None,
        **changes: object,
    ) -> list[Summary]:
        """One summary per dialogue, in order.

        ``changes`` such as ``length="short"`` are options, too. What goes wrong with one dialogue
        does not touch the others: its summary has the status ``error`` and a ``reason``, and the
        logger ``dialogist`` has the traceback.

        Raises:
            UsageError: these are no dialogues, or there is no such option.
            ModelError: the writer can write nothing at all.
        """
        return list(self.stream(dialogues, options, **changes))

    def stream(
        self,
        dialogues: Iterable[Dialogue],
        options: SummaryOptions | None = None,
        **changes: object,
    ) -> Iterator[Summary]:
        """`summarize` for endless input: a few dialogues are read ahead at most."""
        results = self.results(dialogues, options, **changes)
        return (result.summary for result in results)

    def results(
        self,
        dialogues: Iterable[Dialogue],
        options: SummaryOptions | None = None,
        **changes: object,
    ) -> Iterator[Result]:
        """`stream` with what evidence lies in and the filled forms."""
        chosen = SummaryOptions.chosen(options, **changes)
        if isinstance(dialogues, Dialogue | str) or not isinstance(dialogues, Iterable):
            kind = type(dialogues).__name__
            raise UsageError(f"{kind} where a list of dialogues is wanted: summarize([dialogue])")
        if self.at_once > 1:
            return self._in_threads(_checked(dialogues), chosen)
        return (self.result(dialogue, chosen) for dialogue in _checked(dialogues))

    def _in_threads(
        self, dialogues: Iterator[Dialogue], options: SummaryOptions
    ) -> Iterator[Result]:
        """The results in order, while the writer works on several dialogues at a time."""
        from concurrent.futures import Future, ThreadPoolExecutor  # few writers need it

        waiting: deque[Future[Result]] = deque()
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                for dialogue in dialogues:
                    waiting.append(pool.submit(self.result, dialogue, options))
                    if len(waiting) > 2 * self.at_once:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def settings(self, options: SummaryOptions) -> dict[str, JSON]:
        """Everything but the dialogues that summaries depend on, as JSON values."""
        form = self.form.model_dump(mode="json") if self.form is not None else None
        return {
            "dialogist": __version__,
            "writer": self.writer.name,
            "verifier": self.verifier.name if self.verifier is not None else "",
            "form": form,
            "options": to_json(options),
        }

    def result(
        self,
        dialogue: Dialogue,
        options: SummaryOptions,
        on_statement: Callable[[Statement], None] | None = None,
    ) -> Result:
        """The result of one dialogue; what goes wrong is its status ``error``.

        ``on_statement`` hears each statement of a language model that is written and grounded,
        ``unverified``, while it writes on; not where masks come last.

        Raises:
            ModelError: the writer can write nothing at all.
        """
        begin = time.perf_counter()
        sent: dict[str, Sent] = {}
        SENT.set(sent)
        try:
            result = self._result(dialogue, options, on_statement)
        except ModelError:
            raise
        except Exception as error:  # a bug of ours, or of a writer: the others go on
            summary = _failed_masked(dialogue, error, options)
            if isinstance(error, Declined):
                summary = replace(summary, status="refused")
            result = Result(summary, Dialogue((), dialogue.id))
        timings = {**result.summary.timings, "total": round(time.perf_counter() - begin, 6)}
        writer = self.writer
        summary = replace(
            timed(result.summary, dialogue),
            timings=timings,
            writer=writer.name,
            licence=writer.licence,
            sent=tuple(sent.values()),
            reading=dialogue.reading,
        )
        return replace(result, summary=summary)

    def _result(
        self,
        dialogue: Dialogue,
        options: SummaryOptions,
        on_statement: Callable[[Statement], None] | None,
    ) -> Result:
        """mask -> write -> ground -> form."""
        dialogue, options, notes = _renamed(dialogue, options)
        masks = _masks_of(dialogue, options)
        if masks is not None and (options.mask != "output" or self.form is not None):
            pairs = zip(dialogue.utterances, masks[0].utterances, strict=True)
            options = _focused(options, {u.speaker: masked.speaker for u, masked in pairs})
            dialogue = masks[0]  # also where masks come last: a form quotes what it reads
        summary = refused(dialogue, self.writer.language)
        if summary is not None:
            return Result(summary, dialogue, None, notes)
        DRAFTED.set(None)
        if on_statement is not None and (masks is None or dialogue is masks[0]):

            def tell(draft: Draft) -> None:
                for statement in ground(dialogue, [draft]):
                    on_statement(statement)

            DRAFTED.set(tell)
        begin = time.perf_counter()
        written = self.writer.write(dialogue, self.form, options)
        check_kind(f"{self.writer.name}: what it writes", written, "a WriterOutput", WriterOutput)
        wrote = time.perf_counter()
        statements = ground(dialogue, written.drafts, self.verifier)
        if (outbound := dialogue.cache.get("outbound")) is not None:
            statements = [*map(outbound.doubted, statements)]
        count = len(statements)
        if any(statement.verdict != "quoted" for statement in statements):
            statements = settle(dialogue, statements, options.unsupported)
        summary = summary_of(dialogue, statements, options)
        warnings = written.warnings
        replaced = sum(bool(statement.replaced) for statement in statements)
        counts = ((replaced, "replaced by what was said"), (count - len(statements), "left out"))
        nothing = "that nothing supports"
        told = [f"{counted(n, 'statements')} {nothing}: {what}" for n, what in counts if n]
        if told and not statements:
            summary = replace(summary, reason=told[0])
        told += dict.fromkeys(r for s in statements for r in s.reasons if NO_ANSWER in r)
        warnings += tuple(Warning("unsupported", message) for message in told)
        summary = replace(summary, warnings=(*summary.warnings, *warnings))
        timings = {
            "write": round(wrote - begin, 6),
            "ground": round(time.perf_counter() - wrote, 6),
        }
        filled = None
        if self.form is not None:
            from dialogist.forms.fill import fill  # its rules take a while to load

            filled = fill(summary, dialogue, self.form, options.focus)
        else:  # readers have judged summaries, not forms
            summary = _with_chance(summary, dialogue)
        if masks is not None:
            summary, dialogue = _masked(summary, dialogue, *masks)
        if not options.evidence:
            bare = tuple(replace(s, evidence=()) for s in summary.statements)
            summary = replace(summary, statements=bare)
            filled = filled.without_evidence() if filled is not None else None
        return Result(replace(summary, timings=timings), dialogue, filled, notes)


def _check_plugin(what: str, given: object, does: str, **has: type) -> None:
    """Refuse what is no writer or verifier, such as its class."""
    if isinstance(given, type) or not callable(getattr(given, does, None)):
        shown = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise UsageError(f"{what}: give one that can {does}, not {shown}")
    for name, kind in has.items():
        check_kind(f"{what}: {name}", getattr(given, name, None), "text", kind)


def _renamed(
    dialogue: Dialogue, options: SummaryOptions
) -> tuple[Dialogue, SummaryOptions, tuple[str, ...]]:
    """The dialogue and the wishes with people called as they are to be, and notes on it."""
    if options.focus is None and not options.names and options.perspective is None:
        return dialogue, options, ()
    from dialogist.perspective import check_speaker, rename_speakers  # seldom asked for

    if options.focus is not None:
        check_speaker(options.focus, dialogue)
    dialogue, names, notes = rename_speakers(dialogue, options.names, options.perspective)
    return dialogue, _focused(options, names), notes


def _focused(options: SummaryOptions, names: Mapping[str, str]) -> SummaryOptions:
    return replace(options, focus=names.get(options.focus or "", options.focus))


def _masks_of(
    dialogue: Dialogue, options: SummaryOptions
) -> "tuple[Dialogue, MaskTable, Privacy] | None":
    """The dialogue with masks where they are wished for, what is behind them, and how they mask."""
    if options.mask is None:
        return None
    from dialogist.privacy.masking import mask_dialogue
    from dialogist.privacy.packs import privacy_of

    level = "medium" if options.mask in ("input", "output") else options.mask
    privacy = privacy_of(names=options.mask_names, level=level)
    return *mask_dialogue(dialogue, privacy), privacy


def _with_chance(summary: Summary, dialogue: Dialogue) -> Summary:
    """The summary of which everything is proved, with its chance to be filed unread."""
    if summary.status != "review" or summary.reason:
        return summary
    from dialogist.highlights.readiness import READY, ready_chance  # takes a while to load

    evidence = [span for statement in summary.statements for span in statement.evidence]
    chance = ready_chance(dialogue, evidence)
    is_ready = chance is not None and chance >= READY
    return replace(summary, ready=chance, status="ready" if is_ready else "review")


def summary_of(dialogue: Dialogue, statements: list[Statement], options: SummaryOptions) -> Summary:
    """The summary that statements make, with its status and why it is that."""
    status: Status = "review"
    reason = ""
    words = sum(len(words_in(utterance.text)) for utterance in dialogue.utterances)
    flagged = [s for s in statements if s.verdict in ("contradicted", "doubtful")]
    unverified = sum(statement.verdict == "unverified" for statement in statements)
    if words < FEWEST_WORDS:
        status, reason = "not_enough", f"only {counted(words, 'words')} said"
    elif not statements and options.words is not None:
        limit = counted(options.words, "words")
        reason = f"no statement has {limit} or fewer: ask for more with words"
        status = "not_enough"
    elif not statements:
        about = "" if options.focus is None else f" about {options.focus}"
        status, reason = "not_enough", f"nothing was said that matters{about}"
    elif flagged:
        worst = min(flagged, key=lambda s: s.verdict != "contradicted")
        more = f" (and {len(flagged) - 1} more)" if len(flagged) > 1 else ""
        reason = ("; ".join(worst.reasons) or worst.verdict) + more
    elif unverified:
        checked = counted(len(statements), "statements")
        reason = f"{unverified} of {checked} not verified"
    return Summary(
        " ".join(statement.text for statement in statements),
        dialogue.id,
        status,
        reason,
        tuple(statements),
        _coverage(dialogue, read=True),
        (Warning("length", reason),) if not statements and options.words else (),
    )


def timed(summary: Summary, dialogue: Dialogue) -> Summary:
    """The summary with the times of what its statements rest on."""
    utterances = dialogue.utterances
    if all(utterance.start is None for utterance in utterances):
        return summary
    return _with_evidence(
        summary, lambda span: replace(span, time=utterances[span.utterance].start)
    )


def refused(dialogue: Dialogue, language: str = "") -> Summary | None:
    """The summary of a dialogue that cannot be read; ``language`` is the writer's, empty: any."""
    text = "\n".join(utterance.text for utterance in dialogue.utterances)
    status: Status = "empty"
    reason = "the dialogue holds no text"
    if text.strip():
        if not language or len(words_in(text)) < FEWEST_WORDS or language_of(text) == language:
            return None
        wanted = _LANGUAGES.get(language, language)
        status, reason = "unsupported_language", f"this writer reads {wanted} only"
    coverage = _coverage(dialogue, read=False)
    return Summary("", dialogue.id, status, reason, (), coverage, (Warning("not_read", reason),))


def _coverage(dialogue: Dialogue, read: bool) -> Coverage:
    count = len(dialogue.utterances)
    words = sum(len(utterance.text.split()) for utterance in dialogue.utterances)
    return Coverage(count, count * read, words, words * read)


def _failed_masked(dialogue: Dialogue, error: Exception, options: SummaryOptions) -> Summary:
    """`failed`, with masks where they are wished for, in the log, too."""
    if options.mask is None:
        return failed(dialogue, error)
    try:
        masks = _masks_of(dialogue, options)
    except Exception:  # they are what failed
        masks = None
    if masks is None:
        return failed(Dialogue(dialogue.utterances), error, "")
    told = ""
    if isinstance(error, DialogistError):  # the words of another error may be anything
        from dialogist.privacy.masks import mask_more

        ((shown,), _) = mask_more([str(error)], masks[2], masks[1])
        told = shown.text
    return failed(masks[0], error, told)


def masked_record(summary: Summary, options: SummaryOptions) -> Summary:
    """The record of a dialogue that could not be read, with masks where they are wished for."""
    masks = _masks_of(Dialogue((), summary.id, (summary.reason,)), options)
    if masks is None:
        return summary
    return replace(summary, id=masks[0].id, reason=masks[0].references[0])


def failed(dialogue: Dialogue, error: Exception, told: str | None = None) -> Summary:
    """Log what went wrong with a dialogue, and return the record that stands for its summary.

    What a person can cause is told as it is. Any other failure has an id, made of what went wrong
    and where: the same fault has the same id, in the record, in the log and in a report to us.
    ``told`` stands for the error's own words, which may quote the dialogue.
    """
    message = " ".join((str(error) if told is None else told).split())[:_LONGEST]
    named = f"{dialogue.id}: " if dialogue.id else ""
    name, number = type(error).__name__, ""
    if isinstance(error, DialogistError):
        message = message or name
        LOGGER.error("%s%s", named, message)
    else:
        place = "an unknown place"
        for frame in traceback.extract_tb(error.__traceback__):
            path = Path(frame.filename)
            if path.is_relative_to(_PACKAGE):
                place = f"{path.relative_to(_PACKAGE).as_posix()}:{frame.lineno}"
        code = hashlib.sha256(f"{name} {place}".encode()).hexdigest()[:8]
        message, number = (f"{name}: {message}" if message else name), f" (error {code})"
        LOGGER.error("%serror %s at %s: %s", named, code, place, message, exc_info=told is None)
    return Summary("", dialogue.id, "error", message + number, (), _coverage(dialogue, read=False))


def _checked(dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
    for number, dialogue in enumerate(dialogues):
        if not isinstance(dialogue, Dialogue):
            kind = type(dialogue).__name__
            raise UsageError(f"item {number} is no Dialogue ({kind}): see Dialogue.from_text")
        yield dialogue


def _masked(
    summary: Summary, read: Dialogue, masked: Dialogue, table: "MaskTable", privacy: "Privacy"
) -> tuple[Summary, Dialogue]:
    """The summary with masks, and the masked dialogue; evidence has its places in that."""
    from dialogist.privacy.masking import mask_summary

    mentions = [table.masked(n, u.text, read is masked) for n, u in enumerate(masked.utterances)]
    summary, _ = mask_summary(summary, privacy, table)

    def placed(span: EvidenceSpan) -> EvidenceSpan:
        start, end = mentions[span.utterance].around(span.start, span.end)
        return replace(span, start=start, end=end)

    return replace(_with_evidence(summary, placed), id=masked.id), masked


def _with_evidence(summary: Summary, change: Callable[[EvidenceSpan], EvidenceSpan]) -> Summary:
    statements = (replace(s, evidence=tuple(map(change, s.evidence))) for s in summary.statements)
    return replace(summary, statements=tuple(statements))


class Session:
    """Takes utterances as they come; ``summary()`` is that of all that was said so far.

    Many threads may call one session, and many sessions may share one summarizer.

    Example:
        >>> from dialogist import Session, Summarizer, Utterance
        >>> session = Session(Summarizer())
        >>> session.add(Utterance("Ann", "Can you send me the report by Friday?"))
        >>> session.add(Utterance("Bo", "Yes, I will send it on Thursday evening."))
        >>> session.summary().status
        'ready'
    """

    def __init__(
        self,
        summarizer: Summarizer,
        options: SummaryOptions | None = None,
        id: str = "",
        profile: Mapping[str, str] | None = None,
        **changes: object,
    ) -> None:
        self._summarizer, self._id, self._profile = summarizer, id, profile or {}
        check_kind("Session: summarizer", summarizer, "a Summarizer", Summarizer)
        self._options = SummaryOptions.chosen(options, **changes)
        self._utterances: list[Utterance] = []
        self._lock = Lock()

    @property
    def dialogue(self) -> Dialogue:
        """All that was said so far."""
        return Dialogue(tuple(self._utterances), self._id, profile=self._profile)

    def add(self, *utterances: Utterance) -> None:
        """Somebody says something.

        Raises:
            UsageError: one is no `Utterance`; then none is added.
        """
        checked = Dialogue(utterances).utterances
        with self._lock:
            self._utterances += checked

    def summary(self) -> Summary:
        """The summary so far; what goes wrong is its status ``error``."""
        with self._lock:
            dialogue = self.dialogue
        return self._summarizer.result(dialogue, self._options).summary
