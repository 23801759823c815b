"""What a client asks for: a dialogue and options in, a `SummaryRequest` out.

A JSON body is the dialogue itself, under any of the keys that ``jsonl`` files may have, and beside
it the keys of `RESERVED`. Text is read as `dialogist summarize` reads a file. What cannot be read
or done raises a `Problem`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from dialogist.config import Config
from dialogist.errors import DataError, UsageError
from dialogist.formats import ReadOptions, ReadProblem, read_dialogues
from dialogist.formats.fields import MOST_FIELDS, shortlist
from dialogist.forms.form_file import Form
from dialogist.records import (
    JSON,
    PROFILE,
    Dialogue,
    Length,
    MaskedNames,
    Masking,
    Perspective,
    Statement,
    SummaryOptions,
    Unsupported,
    Warning,
    to_json,
)
from dialogist.service.problems import Problem
from dialogist.summarizer import Result, Summarizer

ConfigT = TypeVar("ConfigT", bound=BaseModel)

RESERVED = ("options", "timeout_ms", "review")
_FIELDS = f"fields are up to {MOST_FIELDS} short texts, numbers, true or false, or lists of these"


class Options(Config):
    """The options of one summary, as in ``dialogist summarize``."""

    length: Length | None = None
    words: int | None = Field(None, ge=1, le=100_000)
    evidence: bool = True
    form: str | None = Field(
        None,
        max_length=64,
        description="The name of a form (GET /v1/forms).",
        validation_alias=AliasChoices("form", "template"),
    )
    focus: str | None = Field(None, max_length=200)
    perspective: Perspective | None = None
    speakers: dict[str, str] = Field({}, max_length=50, description="New names by old ones.")
    mask: Masking | None = None
    mask_names: MaskedNames = "none"
    unsupported: Unsupported | None = Field(None, description="Default: as the service is set.")


QUERY = (*(name for name in Options.model_fields if name != "speakers"), "template")
"""Options of a transcript that is sent as text; texts all of them."""


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One dialogue, and what is to be done with it.

    ``form``: its name, or itself. ``unread`` says what was sent beside what is read. ``seconds``:
    the client's deadline, 0 for none. ``for_review``: it is to be stored. ``settles``: it says
    itself what becomes of what nothing supports. ``is_stream``: of a chat, the answer is wanted in
    parts.
    """

    dialogue: Dialogue
    options: SummaryOptions
    form: str | Form | None = None
    unread: str = ""
    seconds: float = 0.0
    for_review: bool = False
    settles: bool = False
    is_stream: bool = False

    def result(
        self, summarizer: Summarizer, on_statement: Callable[[Statement], None] | None = None
    ) -> Result:
        result = summarizer.result(self.dialogue, self.options, on_statement)
        if self.unread:
            warnings = (*result.summary.warnings, Warning("input", self.unread))
            result = replace(result, summary=replace(result.summary, warnings=warnings))
        return result


def options_of(values: object) -> Options:
    """The options of a request."""
    return checked_values(Options, values, "invalid_options", "options: ")


def options_beside(record: JSON, common: object = None) -> Options:
    """The options that stand beside a dialogue; they count before those of its whole batch."""
    values = record if isinstance(record, dict) else {}
    for name in QUERY:  # other programs have lists and objects under some of these names
        if isinstance(values.get(name), str | int | float):
            raise Problem("invalid_options", f"{name} stands in 'options'")
    own = options_of(values.get("options", {})).model_dump(exclude_unset=True)
    return options_of({} if common is None else common).model_copy(update=own)


def checked_values(
    model: type[ConfigT], values: object, code: str = "bad_request", place: str = ""
) -> ConfigT:
    """What a request asks for; a refusal names the first field that is wrong, without its value.

    The name of a field is ours, anything else the client's.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        fault = f"use only {', '.join(model.model_fields)}"
        if name in model.model_fields:
            fault = f"{name}: {first['msg']}"
        raise Problem(code, place + fault) from None


def build_request(
    dialogue: Dialogue,
    options: Options,
    seconds: float = 0.0,
    for_review: bool = False,
) -> SummaryRequest:
    """Put a dialogue and its options together."""
    given = options.model_dump(exclude={"form", "speakers"}, exclude_none=True)
    try:
        chosen = SummaryOptions(**given, names=options.speakers)
    except UsageError as error:  # of rules between options: each value by itself was checked
        raise Problem("invalid_options", f"options: {error}") from None
    new = [name.strip() for name in options.speakers.values()]
    if len(set(new)) < len(new) or any(len(name.splitlines()) != 1 for name in new):
        message = "options: speakers: give each one new name of one line, and no two the same"
        raise Problem("invalid_options", message)
    if any(name in dialogue.speakers and name not in options.speakers for name in new):
        message = "options: speakers: a new name is another speaker's; rename both"
        raise Problem("invalid_options", message)
    if {*options.speakers, options.focus} - {*dialogue.speakers, None}:
        raise Problem("unknown_speaker", "focus or speakers name nobody in this dialogue")
    fields, settles = dialogue.metadata.get(PROFILE), options.unsupported is not None
    unread = ""
    if isinstance(fields, dict):
        unread = f"profile: {shortlist(fields)}: not read; {_FIELDS}"
    return SummaryRequest(dialogue, chosen, options.form, unread, seconds, for_review, settles)


def dialogue_of(record: JSON) -> Dialogue:
    if not isinstance(record, dict):
        raise Problem("unreadable_dialogue", "a dialogue is a JSON object")
    values = {name: value for name, value in record.items() if name not in RESERVED}
    line = json.dumps(values, ensure_ascii=False).encode()
    given = values.get("id", "")
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise Problem("unreadable_dialogue", "id must be a string")
    dialogue = _read(line, ReadOptions(format="jsonl"))
    if not isinstance(dialogue.metadata.get(PROFILE) or {}, dict):
        raise Problem("unreadable_dialogue", f"profile: {_FIELDS}")
    return replace(dialogue, id=str(given))


def record_of(dialogue: Dialogue) -> dict[str, JSON]:
    """A dialogue as a JSON record that `dialogue_of` reads again."""
    turns: list[JSON] = [to_json(utterance) for utterance in dialogue.utterances]
    profile: dict[str, JSON] = {**dialogue.profile}
    return {"id": dialogue.id, "utterances": turns, "profile": profile}


def dialogue_of_text(text: str, identity: str) -> Dialogue:
    """The one dialogue of a transcript, in any format that files may have."""
    return replace(_read(text.encode(), ReadOptions()), id=identity)


def _read(data: bytes, options: ReadOptions) -> Dialogue:
    problems: list[ReadProblem] = []
    try:
        dialogues = list(read_dialogues(BytesIO(data), options, problems.append, lambda note: None))
    except (DataError, UsageError):
        dialogues = []
    if len(dialogues) > 1:
        raise Problem("several_dialogues", "send one dialogue, or several to /v1/batches")
    if not dialogues or problems:
        raise Problem("unreadable_dialogue", _ADVICE[options.format])
    return dialogues[0]


_ADVICE: Mapping[str, str] = {
    "jsonl": (
        "give 'utterances', a list of objects with 'speaker' and 'text', or 'dialogue', a text "
        "with a line 'Name: words' for each turn"
    ),
    "auto": "begin each turn with its speaker ('Name: words'), or use a known export format",
}


def timeout_of(value: Any) -> float:
    """The deadline that a client sets, in seconds; 0 for none."""
    if value is None:
        return 0.0
    try:
        milliseconds = float(value)
    except (TypeError, ValueError):
        milliseconds = 0
    if isinstance(value, bool) or not milliseconds >= 1:
        raise Problem("invalid_options", "timeout_ms must be a number, at least 1")
    return milliseconds / 1000
