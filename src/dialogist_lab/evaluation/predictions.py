"""What systems say about dialogues: asked and kept, or read from anyone's file of predictions."""

import csv
import hashlib
import io
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialogist.errors import DataError, UsageError
from dialogist.files import reading, write_text_atomically
from dialogist.formats import read_dialogues
from dialogist.formats.fields import ID_KEYS
from dialogist.records import Dialogue, Summary
from dialogist.summarizer import Summarizer
from dialogist_lab.evaluation.baselines import find_baseline
from dialogist_lab.evaluation.metric import Case

Note = Callable[[str], None]

PREDICTION_KEYS = (
    *("prediction", "predictions", "pred", "hypothesis", "hyp", "candidate", "output", "outputs"),
    *("generated", "generated_summary", "generated_text", "system_summary", "system_output"),
    *("model_output", "model_summary", "response", "decoded", "summary_text", "summary", "text"),
)
"""What people call an output; the first of these that is there is taken."""

_REFERENCES = re.compile(
    r"(?:human_|gold_|reference_)?(?:summar(?:y|ies)|references?|refs?|gold|targets?|highlights)"
    r"(?:[ _-]?\d+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Output:
    """What a system said about a dialogue, beside the references that say something.

    ``dialogue`` is None where nobody knows it. ``missing``: its file has no output here.
    """

    summary: Summary
    references: tuple[str, ...] = ()
    dialogue: Dialogue | None = None
    missing: bool = False

    @property
    def id(self) -> str:
        """The dialogue's."""
        return self.summary.id

    @property
    def prediction(self) -> str:
        """What the system said."""
        return self.summary.text

    @property
    def is_cut(self) -> bool:
        """Whether it ends at a limit of its writer."""
        return any(warning.kind == "cut" for warning in self.summary.warnings)

    def case(self, labels: Sequence[str] = ()) -> Case:
        """What metrics measure; a plan counts where all its sections are among ``labels``."""
        plan = tuple(s.section for s in self.summary.statements if s.section)
        known = bool(plan) and set(plan) <= set(labels)
        return Case(self.prediction, self.references, self.dialogue, plan if known else None)


def output_of(summary: Summary, dialogue: Dialogue, missing: bool = False) -> Output:
    """A summary beside its dialogue and the references of that."""
    return Output(
        replace(summary, id=dialogue.id), spoken_texts(dialogue.references), dialogue, missing
    )


def spoken_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that say something."""
    return tuple(text for text in texts if text.strip())


def read_data(path: Path, note: Note, limit: int | None = None) -> list[Dialogue]:
    """The dialogues of a file; bad records are noted and left out."""
    dialogues = []
    for dialogue in read_dialogues(path, on_problem=lambda p: note(str(p)), on_note=note):
        dialogues.append(dialogue)
        if len(dialogues) == limit:
            break
    return dialogues


def with_references(dialogues: Sequence[Dialogue], path: Path, note: Note) -> list[Dialogue]:
    """The dialogues that have a reference; how many have none is noted.

    Raises:
        DataError: none has.
    """
    chosen = [dialogue for dialogue in dialogues if spoken_texts(dialogue.references)]
    if not chosen:
        raise DataError(f"{path}: no dialogue there has a reference summary: nothing to evaluate")
    if len(chosen) < len(dialogues):
        note(f"{path}: {len(dialogues) - len(chosen)} dialogues without a reference left out")
    return chosen


@dataclass(frozen=True, slots=True)
class System:
    """Whose summaries are judged: a baseline, a writer, or a file of predictions.

    ``name`` is that of the table. Where ``file`` is None, ``summarize`` is asked.
    """

    name: str
    file: Path | None = None
    summarize: Callable[[Iterable[Dialogue]], Iterator[Summary]] | None = None

    @property
    def file_name(self) -> str:
        """The name without what a file name cannot have: it may be a URL, or a sentence."""
        kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in self.name)
        return kept.strip("-.")[:80]


def find_system(name: str) -> System:
    """The system of that name: a baseline, a file of predictions, a folder with a run, a writer.

    Raises:
        UsageError: there is no such system.
        DialogistError: a model's folder is at fault.
    """
    baseline = find_baseline(name)
    if baseline is not None:
        return System(name, summarize=lambda dialogues: map(baseline, dialogues))
    path = Path(name)
    if path.is_file():
        return System(path.name.removesuffix(path.suffix).removesuffix(".predictions"), path)
    if path.is_dir():
        summarizer = Summarizer(f"model:{path}")
        return System(path.name, summarize=summarizer.stream)
    return System(name, summarize=Summarizer(name).stream)


def find_systems(names: Sequence[str]) -> list[System]:
    """The systems in their order, under different names.

    Raises:
        UsageError: there is no such system, or one is there twice.
    """
    systems: list[System] = []
    for name in names:
        system = find_system(name)
        if any(system.name == other.name for other in systems):
            system = replace(system, name=name)  # folders tell such files apart
        if any(system.file_name == other.file_name for other in systems):
            raise UsageError(f"'{name}' is there twice: a system has one row of the table")
        systems.append(system)
    return systems


def outputs_of(
    system: System,
    dialogues: Sequence[Dialogue],
    kept: Path,
    note: Note,
    prediction_key: str = "",
    missing_as_empty: bool = False,
) -> list[Output]:
    """What a system says about dialogues, in their order.

    A file of predictions is read. Any other system is asked, and ``kept`` holds its summaries as
    JSON lines as they come: a second call goes on where the first one stopped.

    Raises:
        DataError: the file does not fit the dialogues; ``kept`` holds something else.
    """
    if system.file is not None:
        placed = read_predictions(system.file, note, prediction_key)
        return beside(system.file, placed, dialogues, note, missing_as_empty)
    keys = [_digest(system.name, _state_of(system.name), dialogue) for dialogue in dialogues]
    summaries = _kept_summaries(kept)
    left = [(k, d) for k, d in zip(keys, dialogues, strict=True) if k not in summaries]
    if left and len(left) < len(dialogues):
        note(f"{system.name}: {len(dialogues) - len(left)} summaries are in {kept} already")
    assert system.summarize is not None
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        made = system.summarize(dialogue for _, dialogue in left)
        noted = time.monotonic()
        for number, ((key, _), summary) in enumerate(zip(left, made, strict=True), 1):
            if time.monotonic() > noted + 30:
                noted = time.monotonic()
                note(f"{system.name}: {number} of {len(left)} dialogues summarized")
            summaries[key] = summary
            if summary.status != "error":  # tried again: it may have been the network
                file.write(_line(key, summary))
                file.flush()
    lines = (_line(key, summaries[key]) for key in keys if summaries[key].status != "error")
    write_text_atomically(kept, "".join(lines))
    return [output_of(summaries[k], d) for k, d in zip(keys, dialogues, strict=True)]


def _line(key: str, summary: Summary) -> str:
    text = json.dumps({"key": key, **summary.to_json()}, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode() + "\n"  # half of a pair cannot be written


def _kept_summaries(path: Path) -> dict[str, Summary]:
    if not path.exists():
        return {}
    summaries = {}
    with reading(path):
        lines = path.read_text(encoding="utf-8").split("\n")
    for line in lines[:-1]:  # the last is empty, or torn by a kill
        try:
            record = json.loads(line)
            summaries[str(record.pop("key"))] = Summary.from_json(record)
        except (ValueError, KeyError, AttributeError, DataError):
            raise DataError(
                f"{path}: holds something else than summaries of ours: move it away, or give "
                "another place with --predictions"
            ) from None
    return summaries


def _state_of(name: str) -> list[object]:
    """What changes when the model behind a name does: its files, their sizes and times."""
    place = Path(name.partition(":")[2] or name)
    files = sorted(place.rglob("*")) if place.is_dir() else [place] if place.is_file() else []
    stats = ((str(path), path.stat()) for path in files)
    return [[path, stat.st_size, stat.st_mtime_ns] for path, stat in stats]


def _digest(name: str, state: object, dialogue: Dialogue) -> str:
    turns = [[u.speaker, u.text, u.role] for u in dialogue.utterances]
    content = json.dumps([name, state, dialogue.id, turns, dict(dialogue.profile)])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def read_predictions(path: Path, note: Note, prediction_key: str = "") -> list[Output]:
    """The outputs of a file in their order; a bad record is noted and left out.

    JSON lines, a JSON array (of objects or texts), one JSON object of ids and texts, CSV or TSV
    with a row of names, or plain text with an output a line. Summaries of our own (schema 3 and 4)
    keep their statements. What a field is called is settled by the first record: the usual names,
    or ``prediction_key``. null is a missing output, which is not the same as an empty one.

    Raises:
        DataError: it cannot be read, is no text, or no field in it is an output.
    """
    with reading(path):
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except ValueError as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    outputs: list[Output] = []
    key = identity = ""
    for number, record in _records(path, text, note):
        if not key:
            names = {name.lower(): name for name in reversed(list(record))}
            key = prediction_key or next((names[k] for k in PREDICTION_KEYS if k in names), "")
            identity = next((names[k] for k in ID_KEYS if k in names), "")
            if key not in record:
                there = ", ".join(sorted(name[:40] for name in record)[:12])
                raise DataError(
                    f"{path}, record {number}: has no {key or 'output'} (but: {there}); say which "
                    "it is with --prediction-key"
                )
        try:
            outputs.append(_output(record, key, identity))
        except (DataError, KeyError, TypeError) as error:
            note(f"{path}, record {number}: left out: {error}")
    if not outputs:
        raise DataError(f"{path}: holds no output that can be read")
    return outputs


def _output(record: Mapping[str, Any], key: str, identity: str) -> Output:
    text = record[key]
    if text is not None and not isinstance(text, str):
        raise DataError(f"'{key}' is no text")
    name = str(record[identity]) if identity and record.get(identity) is not None else ""
    if record.get("schema_version") in (3, 4):
        summary = Summary.from_json(record)
    else:
        summary = Summary(text or "", name, "ok" if text and text.strip() else "empty")
    references: list[str] = []
    for other, value in record.items():
        if other != key and _REFERENCES.fullmatch(other):
            references += value if isinstance(value, list) else [value]
    texts = [text for text in references if isinstance(text, str)]
    return Output(replace(summary, id=name), spoken_texts(texts), missing=text is None)


def _records(path: Path, text: str, note: Note) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each record of a file with its number, from 1."""
    table = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if table:
        csv.field_size_limit(1 << 28)  # the module's own is 128 kB
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=table)
        yield from ((number, dict(row)) for number, row in enumerate(rows, 1))
        return
    if not text.lstrip().startswith(("{", "[", '"')):
        lines = text.removesuffix("\n").split("\n") if text.strip() else []
        yield from ((number, {"prediction": line}) for number, line in enumerate(lines, 1))
        return
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None  # JSON lines, most likely
    if isinstance(whole, dict):
        is_table = all(value is None or isinstance(value, str) for value in whole.values())
        texts = is_table and not any(key in whole for key in (*PREDICTION_KEYS, *ID_KEYS))
        pairs = ({"id": key, "prediction": value} for key, value in whole.items())
        yield from enumerate(pairs if texts else [whole], 1)
        return
    for number, value in enumerate(whole or text.splitlines(), 1):
        try:
            record = json.loads(value) if whole is None and value.strip() else value
        except ValueError as error:
            note(f"{path}, record {number}: left out: no JSON: {error}")
            continue
        if isinstance(record, dict):
            yield number, record
        elif isinstance(record, str) and record:
            yield number, {"prediction": record}


def beside(
    path: Path,
    placed: Sequence[Output],
    dialogues: Sequence[Dialogue],
    note: Note,
    missing_as_empty: bool = False,
) -> list[Output]:
    """Outputs of a file beside dialogues: by id, or without ids in their order.

    Raises:
        DataError: ids are missing, unknown, or there twice; or without ids the counts differ.
    """
    ids, wanted = [output.id for output in placed], [dialogue.id for dialogue in dialogues]
    if not any(ids) or ids == wanted:
        if len(placed) != len(dialogues):
            raise DataError(
                f"{path}: {len(placed)} outputs without ids, but {len(dialogues)} dialogues"
            )
        if not any(ids):
            note(f"{path}: has no ids: taken line by line")
        numbered = dict(enumerate(placed))
        chosen = [numbered[i] for i in range(len(dialogues))]
    else:
        for name, several in (("the data", wanted), (str(path), ids)):
            twice = [key for key, count in Counter(several).items() if count > 1]
            if twice:
                raise DataError(f"{name}: the id {_few(twice)} is there more than once")
        if not set(ids) & set(wanted):
            raise DataError(f"{path}: none of its ids ({_few(ids)}) is in the data")
        if len(set(ids) - set(wanted)):
            note(f"{path}: {len(set(ids) - set(wanted))} outputs of dialogues not evaluated here")
        by_id = dict(zip(ids, placed, strict=True))
        absent = Output(Summary("", status="empty"), missing=True)
        chosen = [by_id.get(key, absent) for key in wanted]
    lacking = [d.id for d, output in zip(dialogues, chosen, strict=True) if output.missing]
    if lacking and not missing_as_empty:
        raise DataError(
            f"{path}: no output for {len(lacking)} dialogues ({_few(lacking)}); "
            "--missing-as-empty counts these as empty outputs"
        )
    return [output_of(o.summary, d, o.missing) for o, d in zip(chosen, dialogues, strict=True)]


def _few(ids: Sequence[str]) -> str:
    shown = ", ".join(f"'{name[:40]}'" for name in ids[:3])
    return shown if len(ids) <= 3 else f"{shown} and {len(ids) - 3} more"
