"""What a client asks for: a dialogue and options in, a `SummaryRequest` for the worker out.

A JSON body is the dialogue itself, under any of the keys that ``jsonl`` files may have, and beside
it the keys of `RESERVED`. Text is read as `dialogist summarize` reads a file.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from pydantic import Field, ValidationError

from dialogist.config import Config
from dialogist.formats import ReadOptions, ReadProblem, read_dialogues
from dialogist.formats.fields import MOST_FIELDS, TURN_KEYS, is_internal, shortlist
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.model_folder.options import SummaryOptions, only_in_free_style
from dialogist.present import PresentedSummary, Presenter, PresentOptions
from dialogist.records import (
    JSON,
    PROFILE,
    Dialogue,
    Length,
    LongInput,
    MaskedNames,
    MaskStage,
    Perspective,
    Style,
    Summary,
    Warning,
)
from dialogist.service.problems import Problem
from dialogist.forms.perspective import Renamer
from dialogist.forms.template_config import bundled_templates, load_template
from dialogist.language.tokens import count_words, counted

RESERVED = ("options", "timeout_ms", "review")
_NO_NOTE: JSON = {"speaker": "", "text": ""}
_FIELDS = f"fields are up to {MOST_FIELDS} short texts, numbers, true or false, or lists of these"
_OF_THE_MODEL = {"style", "length", "words", "evidence", "long", "safe"}


class Options(Config):
    """The options of one summary, as in ``dialogist summarize``; None: as the model was made for.

    Search (beams, sampling) is the operator's business: it could make a request cost any time.
    """

    style: Style | None = None
    length: Length | None = None
    words: int | None = Field(None, ge=1, le=100_000)
    evidence: bool = True
    long: LongInput | None = None
    safe: bool | None = None
    template: str | None = Field(None, max_length=64, description="The name of a bundled template.")
    focus: str | None = Field(None, max_length=200)
    perspective: Perspective | None = None
    speakers: dict[str, str] = Field({}, max_length=50, description="New names by old ones.")
    mask: MaskStage | None = None
    mask_names: MaskedNames = "none"


@dataclass(slots=True)
class SummaryRequest:
    """One dialogue, and what is to be done with it; worked off by one thread.

    ``size``: how many tokens it has, about: words, marks and Chinese characters. ``notes``: how
    many internal notes were sent.
    """

    dialogue: Dialogue
    options: SummaryOptions
    presenter: Presenter
    size: int
    notes: int = 0

    def read(self) -> Dialogue:
        """Give the model what it reads."""
        [dialogue] = self.presenter.mask_inputs([self.dialogue])
        return dialogue

    def shown(self, summary: Summary) -> PresentedSummary:
        """The summary as it was asked for.

        Raises:
            Problem: the focus or a renamed speaker is nobody's in the dialogue.
        """
        for presented in self.presenter.present([summary]):
            told = [Warning("input", one) for one in self._unread()]
            warnings = (*presented.summary.warnings, *told)
            return replace(presented, summary=replace(presented.summary, warnings=warnings))
        raise Problem("unknown_speaker", "focus or speakers name nobody in this dialogue")

    def _unread(self) -> Iterator[str]:
        """What was sent beside what is read."""
        if self.notes:
            yield f"{counted(self.notes, 'internal notes')} (public=false) not read"
        fields = self.dialogue.metadata.get(PROFILE)
        if isinstance(fields, dict):
            yield f"profile: {shortlist(fields)}: not read; {_FIELDS}"


def options_of(values: object) -> Options:
    """The options of a request.

    Raises:
        Problem: one is unknown or not valid; says which, without its value.
    """
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        raise Problem("invalid_options", f"options: {fault_of(error, Options)}") from None


def fault_of(error: ValidationError, model: type[Config]) -> str:
    """The first fault: the name of a field is ours, anything else the client's."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if name not in model.model_fields:
        return f"use only {', '.join(model.model_fields)}"
    return f"{name}: {first['msg']}"


def build_request(
    dialogue: Dialogue, options: Options, base: SummaryOptions, notes: int = 0
) -> SummaryRequest:
    """Put a dialogue and its options together; ``notes``: how many internal ones it had.

    Raises:
        Problem: the options do not go together.
    """
    given = options.model_dump(include=_OF_THE_MODEL)
    wanted = {name: value for name, value in given.items() if value is not None}
    wanted["evidence"] = options.evidence or options.template is not None
    try:
        chosen = SummaryOptions.parse({**base.model_dump(), **wanted}, "options")
    except ConfigError as error:  # of rules between options: each value by itself was checked
        raise Problem("invalid_options", str(error)) from None
    if chosen.style == "faithful" and (idle := only_in_free_style(wanted)):
        message = f"options: use {' and '.join(idle)} in style free only"
        raise Problem("invalid_options", message)
    if chosen.style == "faithful":  # in free style the shape sees to it afterwards
        chosen = chosen.model_copy(update={"focus": options.focus})
    if options.template is not None and options.template not in bundled_templates():
        names = ", ".join(bundled_templates())
        raise Problem("invalid_options", f"options: template: use one of {names}")
    if options.mask is None and options.mask_names != "none":
        raise Problem("invalid_options", "options: mask_names has an effect with mask only")
    names_by = options.speakers
    try:
        Renamer(names_by)
    except UsageError:
        message = "options: speakers: give each one new name of one line, and no two the same"
        raise Problem("invalid_options", message) from None
    if {new for old, new in names_by.items() if new != old} & {*dialogue.speakers} - {*names_by}:
        message = "options: speakers: a new name is another speaker's; rename both"
        raise Problem("invalid_options", message)
    template = None if options.template is None else load_template(options.template)
    shape = PresentOptions(template, options.focus, options.perspective, names_by, options.evidence)
    presenter = Presenter(shape, options.mask, options.mask_names, _silent)
    size = sum(count_words(one.text) for one in dialogue.utterances)
    return SummaryRequest(dialogue, chosen, presenter, size, notes)


def _silent(_: str) -> None:
    """Presenters tell what they leave out; `SummaryRequest.shown` has a problem instead."""


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
    if not isinstance(found.metadata.get(PROFILE) or {}, dict):
        raise Problem("unreadable_dialogue", f"profile: {_FIELDS}")
    return replace(found, id=str(given))


def notes_in(record: JSON) -> int:
    """How many turns of a JSON record are internal notes, which nothing reads."""
    return sum(map(_is_note, _turns(record))) if isinstance(record, dict) else 0


def _turns(record: Mapping[str, JSON]) -> list[JSON]:
    found = (record.get(key) for key in TURN_KEYS)
    return next((turns for turns in found if isinstance(turns, list)), [])


def _is_note(turn: JSON) -> bool:
    return isinstance(turn, dict) and is_internal(turn)


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
