"""What a client asks for: a dialogue and options in, a `Wish` for the worker out.

A JSON body is the dialogue itself, under any of the keys that ``jsonl`` files may have, and beside
it the keys of `RESERVED`. Text is read as `dialogist summarize` reads a file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, Literal

from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.data.readers import ReadOptions, ReadProblem, read_dialogues
from dialogist.data.readers.fields import MOST_FIELDS, TURN_KEYS, UTTERANCE_KEYS, is_internal
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.model_folder.options import Length, Style, SummaryOptions, only_in_free_style
from dialogist.present import Presenter, Shape, Shaped, Where
from dialogist.privacy.packs import MaskedNames
from dialogist.records import JSON, PROFILE, Dialogue, Summary, Warning
from dialogist.serve.problems import Problem
from dialogist.template.template_config import bundled_templates, load_template
from dialogist.text.tokens import count_words, counted

RESERVED = ("options", "timeout_ms", "review")
_NO_NOTE: JSON = {"speaker": "", "text": ""}
_OF_THE_MODEL = {"style", "length", "words", "evidence", "long", "safe"}


class Options(Config):
    """The options of one summary, as in ``dialogist summarize``; None: as the model was made for.

    Search (beams, sampling) is the operator's business: it could make a request cost any time.
    """

    style: Style | None = None
    length: Length | None = None
    words: int | None = Field(None, ge=1, le=100_000)
    evidence: bool = True
    long: Literal["windows", "cut"] | None = None
    safe: bool | None = None
    template: str | None = Field(None, max_length=64, description="The name of a bundled template.")
    focus: str | None = Field(None, max_length=200)
    perspective: Literal["name", "role"] | None = None
    speakers: dict[str, str] = Field({}, max_length=50, description="New names by old ones.")
    mask: Where | None = None
    mask_names: MaskedNames = "none"


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client sent: the text of each utterance, and how many are internal notes.

    A note has no text here, as in what is read: so the others keep their numbers.
    """

    texts: tuple[JSON, ...]
    notes: int = 0


@dataclass(slots=True)
class Wish:
    """One dialogue, and what is to be done with it; worked off by one thread.

    ``size``: how many tokens it has, about: words, marks and Chinese characters. ``sent``: None
    where nobody asks what the evidence refers to.
    """

    dialogue: Dialogue
    options: SummaryOptions
    presenter: Presenter
    size: int
    is_shown_whole: bool = True
    sent: Sent | None = None
    seen: Dialogue = field(default_factory=lambda: Dialogue(()))
    """What the model read: masked where that was asked for."""

    def read(self) -> Dialogue:
        """Give the model what it reads."""
        [self.seen] = self.presenter.before([self.dialogue])
        return self.seen

    def shown(self, summary: Summary) -> Shaped:
        """The summary as it was asked for.

        Raises:
            Problem: the focus or a renamed speaker is nobody's in the dialogue.
        """
        for shaped in self.presenter.after([summary]):
            return shaped if self.sent is None else self._told(shaped, self.sent)
        raise Problem("unknown_speaker", "focus or speakers name nobody in this dialogue")

    def _told(self, shaped: Shaped, sent: Sent) -> Shaped:
        """The summary with what was read, where the evidence does not refer to what was sent."""
        told: list[str] = []
        if sent.notes:
            told.append(f"{counted(sent.notes, 'internal notes')} (public=false) not read")
        if sent.texts != tuple(one.text for one in self.seen.utterances):
            if self.is_shown_whole:
                shaped = replace(shaped, read=self.seen.utterances)
            else:  # a mask is asked for, and the text that was read has none
                told.append("evidence refers to the text without markup, not to the text sent")
        warnings = (*shaped.summary.warnings, *(Warning("input", one) for one in told))
        return replace(shaped, summary=replace(shaped.summary, warnings=warnings))


def options_of(values: object) -> Options:
    """The options of a request.

    Raises:
        Problem: one is unknown or not valid; says which, without its value.
    """
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        raise Problem("invalid_options", _told(error)) from None


def _told(error: ValidationError) -> str:
    """The first fault: the name of an option is ours, anything else the client's."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if name not in Options.model_fields:
        return f"options: use only {', '.join(Options.model_fields)}"
    return f"options: {name}: {first['msg']}"


def wish_of(
    dialogue: Dialogue, options: Options, base: SummaryOptions, sent: Sent | None = None
) -> Wish:
    """Put a dialogue and its options together; see `Wish` for ``sent``.

    Raises:
        Problem: the options do not go together.
    """
    given = options.model_dump(include=_OF_THE_MODEL)
    wanted = {name: value for name, value in given.items() if value is not None}
    wanted["evidence"] = options.evidence or options.template is not None
    try:
        chosen = SummaryOptions.parse({**base.model_dump(), **wanted}, "options")
    except ConfigError:
        raise Problem("invalid_options", "options: length long does not go with long cut") from None
    if chosen.style == "faithful" and only_in_free_style(wanted):
        raise Problem("invalid_options", "options: long and safe have an effect in style free only")
    if chosen.style == "faithful":  # in free style the shape sees to it afterwards
        chosen = chosen.model_copy(update={"focus": options.focus})
    if options.template is not None and options.template not in bundled_templates():
        names = ", ".join(bundled_templates())
        raise Problem("invalid_options", f"options: template: use one of {names}")
    if options.mask is None and options.mask_names != "none":
        raise Problem("invalid_options", "options: mask_names has an effect with mask only")
    template = None if options.template is None else load_template(options.template)
    names_by = options.speakers
    shape = Shape(template, options.focus, options.perspective, names_by, options.evidence)
    presenter = Presenter(shape, options.mask, options.mask_names, _silent)
    size = sum(count_words(one.text) for one in dialogue.utterances)
    is_whole = options.mask != "output" or template is not None
    return Wish(dialogue, chosen, presenter, size, is_whole, sent)


def _silent(_: str) -> None:
    """Presenters tell what they leave out; `Wish.shown` answers with a problem instead."""


def dialogue_of(record: JSON) -> Dialogue:
    """The dialogue of a JSON record.

    Raises:
        Problem: it holds none.
    """
    if not isinstance(record, dict):
        raise Problem("unreadable_dialogue", "a dialogue is a JSON object")
    own = {name: value for name, value in record.items() if name not in RESERVED}
    turns = _turns(own)
    if turns and not all(map(_is_note, turns)):
        own[next(key for key in TURN_KEYS if own.get(key) is turns)] = [
            _NO_NOTE if _is_note(turn) else turn for turn in turns
        ]
    line = json.dumps(own, ensure_ascii=False).encode()
    given = own.get("id", "")
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise Problem("unreadable_dialogue", "id must be a string")
    found = _read(line, ReadOptions(format="jsonl"))
    if PROFILE in found.metadata:
        raise Problem("unreadable_dialogue", _ADVICE[PROFILE])
    return replace(found, id=str(given))


def sent_of(record: JSON) -> Sent:
    """What a JSON record has, as its client counts it."""
    turns = _turns(record) if isinstance(record, dict) else []
    texts = tuple("" if _is_note(turn) else _text(turn) for turn in turns)
    return Sent(texts, sum(map(_is_note, turns)))


def _turns(record: Mapping[str, JSON]) -> list[JSON]:
    found = (record.get(key) for key in TURN_KEYS)
    return next((turns for turns in found if isinstance(turns, list)), [])


def _is_note(turn: JSON) -> bool:
    return isinstance(turn, dict) and is_internal(turn)


def _text(turn: JSON) -> JSON:
    if isinstance(turn, list):
        return turn[-1] if turn else ""
    if isinstance(turn, dict):
        return next((turn[key] for key in UTTERANCE_KEYS if key in turn), "")
    return turn


def dialogue_of_text(text: str, identity: str) -> Dialogue:
    """The dialogue of a transcript, in any format that files may have.

    Raises:
        Problem: the format is unknown, or it holds no dialogue, or several.
    """
    return replace(_read(text.encode(), ReadOptions()), id=identity)


def _read(data: bytes, options: ReadOptions) -> Dialogue:
    problems: list[ReadProblem] = []
    try:
        found = list(read_dialogues(BytesIO(data), options, problems.append, _silent))
    except (DataError, UsageError):
        found = []
    if len(found) > 1:
        raise Problem("several_dialogues", "send one dialogue, or several to /v1/batches")
    if not found or problems:
        raise Problem("unreadable_dialogue", _ADVICE[options.format])
    return found[0]


_ADVICE: Mapping[str, str] = {
    "jsonl": (
        "give 'utterances', a list of objects with 'speaker' and 'text', or 'dialogue', a text "
        "with a line 'Name: words' for each turn"
    ),
    PROFILE: (
        f"profile holds up to {MOST_FIELDS} fields by name: short texts, numbers, true or false, "
        "or lists of these"
    ),
    "auto": "begin each turn with its speaker ('Name: words'), or use a known export format",
}


def timeout_of(value: Any, most: float) -> float:
    """The deadline that a client sets, in seconds; no longer than the operator allows.

    Raises:
        Problem: it is less than a millisecond, or no number.
    """
    if value is None:
        return most
    try:
        milliseconds = float(value)
    except (TypeError, ValueError):
        milliseconds = 0
    if isinstance(value, bool) or not milliseconds >= 1:
        raise Problem("invalid_options", "timeout_ms must be a number, at least 1")
    return min(milliseconds / 1000, most)
