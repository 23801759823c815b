"""Whose summaries are judged: baselines, writers, run folders, anyone's files of predictions."""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from dialogist.cli.console import Meter
from dialogist.errors import DataError, UsageError, nearest
from dialogist.files import reading, write_text_atomically
from dialogist.formats import read_dialogues
from dialogist.formats.fields import KEYS, shortlist
from dialogist.formats.json_records import json_values
from dialogist.formats.read_options import ProblemReporter
from dialogist.formats.source import source_of_bytes
from dialogist.language.tokens import words_in
from dialogist.plugins import plugin_names
from dialogist.records import Dialogue, Summary
from dialogist.summarizer import Summarizer
from dialogist.writers import OWN_WRITERS, WRITERS
from dialogist_lab.evaluation.metric import Case
from dialogist_lab.evaluation.rouge_bleu import RougeWords

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

    def case(self, labels: Sequence[str] = ()) -> Case:
        """What metrics measure; a plan counts where all its sections are among ``labels``."""
        plan = tuple(s.section for s in self.summary.statements if s.section)
        known = bool(plan) and set(plan) <= set(labels)
        return Case(self.prediction, self.references, self.dialogue, plan if known else None)


def output_of(summary: Summary, dialogue: Dialogue, missing: bool = False) -> Output:
    """A summary beside its dialogue and the references of that."""
    references = tuple(text for text in dialogue.references if text.strip())
    return Output(replace(summary, id=dialogue.id), references, dialogue, missing)


def read_data(path: Path, note: Note) -> list[Dialogue]:
    """The dialogues of a file; bad records are noted and left out."""
    return list(read_dialogues(path, on_problem=lambda p: note(str(p)), on_note=note))


def read_with_references(path: Path, note: Note, limit: int | None = None) -> list[Dialogue]:
    """Those of the first ``limit`` dialogues that have a reference.

    Raises:
        DataError: none has.
    """
    dialogues = read_data(path, note)[:limit]
    chosen = [d for d in dialogues if any(text.strip() for text in d.references)]
    if not chosen:
        raise DataError(f"{path}: no dialogue there has a reference summary: nothing to evaluate")
    if len(chosen) < len(dialogues):
        note(f"{path}: {len(dialogues) - len(chosen)} dialogues without a reference left out")
    return chosen


_EXTRACT = re.compile(r"(lead|longest)-([1-9]\d{0,8})")


def find_baseline(name: str) -> Callable[[Dialogue], Summary] | None:
    """The baseline of that name; None where the name is no baseline's.

    ``lead-N`` and ``longest-N``: N utterances, one a line in their order. ``turns:ROLE``: all turns
    of a role or speaker. ``constant:TEXT``: the same for every dialogue.

    Raises:
        UsageError: ``constant:`` or ``turns:`` without a text.
    """
    kind, colon, rest = name.partition(":")
    if colon and kind in ("constant", "turns"):
        if not rest.strip():
            raise UsageError(f"baseline '{name}': write constant:TEXT or turns:ROLE")
        if kind == "constant":
            return lambda dialogue: Summary(rest, dialogue.id, writer=name)
        return lambda dialogue: extractive_summary(
            dialogue, _turns_of(dialogue, rest.casefold()), name
        )
    match = _EXTRACT.fullmatch(name)
    if match is None:
        return None

    def baseline(dialogue: Dialogue) -> Summary:
        turns = dialogue.utterances
        spoken = [i for i, turn in enumerate(turns) if turn.text.strip()]
        if match[1] == "longest":
            spoken.sort(key=lambda i: -len(turns[i].text))
        return extractive_summary(dialogue, spoken[: int(match[2])], name)

    return baseline


def _turns_of(dialogue: Dialogue, wanted: str) -> list[int]:
    turns = dialogue.utterances
    roles = [i for i, turn in enumerate(turns) if turn.role.casefold() == wanted]
    return roles or [i for i, turn in enumerate(turns) if turn.speaker.casefold() == wanted]


def _lines(dialogue: Dialogue) -> list[str]:
    turns = dialogue.utterances
    return [f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in turns]


def extractive_summary(dialogue: Dialogue, chosen: Iterable[int], name: str) -> Summary:
    """The chosen utterances as ``speaker: text``, one a line, in their order."""
    lines = _lines(dialogue)
    text = "\n".join(lines[i] for i in sorted(chosen))
    return Summary(text, dialogue.id, "review" if text else "empty", writer=name)


_WORDS = RougeWords()


def oracle(dialogue: Dialogue) -> Summary:
    """The extract that shares most with the references: what extraction could reach, nearly.

    Greedy (Nallapati et al. 2017, section 3.2): add the utterance that raises the mean over the
    references of ROUGE-1 F1 + ROUGE-2 F1 most, while one does. It reads the references: a row of a
    table, and never a system.
    """

    def grams(text: str) -> list[Counter[object]]:
        words = _WORDS.tokenize(text)
        return [Counter(words), Counter(pairwise(words))]

    references = [grams(text) for text in dialogue.references]

    def f1(extract: list[Counter[object]]) -> float:
        pairs = [pair for reference in references for pair in zip(extract, reference, strict=True)]
        return sum(2 * (a & b).total() / (a.total() + b.total()) for a, b in pairs if a or b)

    left = {i: grams(line) for i, line in enumerate(_lines(dialogue))}
    left = {i: each for i, each in left.items() if dialogue.utterances[i].text.strip()}
    chosen: list[int] = []
    so_far: list[Counter[object]] = [Counter(), Counter()]
    reached = 0.0
    while left:
        longer = {i: [a + b for a, b in zip(so_far, left[i], strict=True)] for i in left}
        gains = {i: f1(extract) for i, extract in longer.items()}
        best = max(gains, key=lambda i: gains[i])
        if gains[best] <= reached:
            break
        reached, so_far = gains[best], longer[best]
        chosen.append(best)
        del left[best]
    return extractive_summary(dialogue, chosen, "oracle")


def most_central(texts: Sequence[str]) -> str:
    """The text most like all others: the mean of shared distinct words (of many: the first 1,000).

    It is the pattern that people themselves write by, and a constant to beat.
    """
    words = [set(words_in(text.casefold())) for text in texts[:1_000]]

    def likeness(i: int) -> float:
        return fmean(2 * len(words[i] & w) / max(1, len(words[i]) + len(w)) for w in words)

    return texts[max(range(len(words)), key=likeness)]


def sample(dialogues: Sequence[Dialogue], count: int, seed: int) -> list[Dialogue]:
    """Up to ``count`` dialogues at random; a smaller count is the head of a larger one."""
    lots = [hashlib.sha256(f"{seed} {n}".encode()).digest() for n in range(len(dialogues))]
    return [dialogues[n] for n in sorted(range(len(dialogues)), key=lots.__getitem__)[:count]]


@dataclass(frozen=True, slots=True)
class System:
    """Whose summaries are judged: what ``summarize`` writes; without it, a file of predictions.

    ``path``: that file, or the folder of a model.
    """

    name: str
    path: Path | None = None
    summarize: Callable[[Iterable[Dialogue]], Iterator[Summary]] | None = None

    @property
    def file_name(self) -> str:
        """The name without what a file name cannot have: it may be a URL, or a sentence."""
        kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in self.name)
        return kept.strip("-.")[:80]


def find_system(name: str) -> System:
    """The system of that name: a baseline, a file of predictions, a folder with a run, a writer.

    Raises:
        DialogistError: there is no such system, or a model's folder is at fault.
    """
    baseline = find_baseline(name)
    if baseline is not None:
        return System(name, None, lambda dialogues: map(baseline, dialogues))
    path = Path(name)
    if path.is_file():
        return System(path.name.removesuffix(path.suffix).removesuffix(".predictions"), path)
    if path.is_dir():
        from dialogist_lab.train_run import TrainedModel  # which measures with this package

        return System(path.name, path, TrainedModel.load(path).summaries)
    kind, known = re.split("[:?#]", name)[0], (*OWN_WRITERS, *plugin_names(WRITERS))
    if kind not in known:
        baselines = ("lead-3", "longest-3", "turns:ROLE", "constant:TEXT")
        raise UsageError(
            f"system '{name}': no such file or folder, and no baseline or writer of that name"
            f"{nearest(kind, (*baselines, *known))} (there are: {', '.join((*baselines, *known))})"
        )
    return System(name, Path(name.partition(":")[2]), Summarizer(name).stream)


def find_systems(names: Sequence[str]) -> list[System]:
    """The systems in their order; of those that are called alike each has its whole path.

    Raises:
        DialogistError: there is no such system, or one is there twice.
    """
    systems = [find_system(name) for name in names]
    short = [system.name for system in systems]
    systems = [
        replace(system, name=name) if short.count(system.name) > 1 else system
        for system, name in zip(systems, names, strict=True)
    ]
    if len({system.file_name for system in systems}) < len(systems):
        raise UsageError(f"{', '.join(names)}: one is there twice; a system has one row")
    return systems


def outputs_of(
    system: System, dialogues: Sequence[Dialogue], kept: Path, note: Note, prediction_key: str = ""
) -> list[Output]:
    """What a system says about dialogues, in their order.

    A file of predictions is read. Any other system is asked, and ``kept`` holds its summaries as
    JSON lines as they come: a second call goes on where the first one stopped. A summary is made
    again where the dialogue, or a file of the system, has changed.

    Raises:
        DataError: the file does not fit the dialogues; ``kept`` holds something else.
    """
    path = system.path or Path()
    if system.summarize is None:
        return beside(path, read_predictions(path, note, prediction_key), dialogues, note)
    held = sorted(path.rglob("*.*")) if path.name else []
    parts = [file for file in held if file.suffix in (".safetensors", ".yaml", ".json")]
    state = [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in parts]

    def key_of(dialogue: Dialogue) -> str:
        turns = [[u.speaker, u.text, u.role] for u in dialogue.utterances]
        content = [system.name, state, dialogue.id, turns, dict(dialogue.profile)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:24]

    keys = [key_of(dialogue) for dialogue in dialogues]
    summaries = _kept_summaries(kept)
    left = [(k, d) for k, d in zip(keys, dialogues, strict=True) if k not in summaries]
    if left and len(left) < len(dialogues):
        note(f"{system.name}: {len(dialogues) - len(left)} summaries are in {kept} already")
    kept.parent.mkdir(parents=True, exist_ok=True)
    meter = Meter(f"{system.name}: summarized", len(left), "dialogues")
    with kept.open("a", encoding="utf-8") as file:
        made = system.summarize(dialogue for _, dialogue in left)
        for number, ((key, _), summary) in enumerate(zip(left, made, strict=True), 1):
            summaries[key] = summary
            file.write(_line(key, summary))
            file.flush()
            meter.update(number)
    meter.finish()
    write_text_atomically(kept, "".join(_line(key, summaries[key]) for key in keys))
    return [output_of(summaries[k], d) for k, d in zip(keys, dialogues, strict=True)]


def _line(key: str, summary: Summary) -> str:
    if summary.status == "error":
        return ""  # tried again: it may have been the network
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


def read_predictions(path: Path, note: Note, prediction_key: str = "") -> list[Output]:
    """The outputs of a file in their order; a bad record is noted and left out.

    JSON lines, a JSON array (of objects or texts), one JSON object of ids and texts, CSV or TSV
    with a row of names, or plain text with an output a line. Summaries of our own (schema 3 and 4)
    keep their statements. What a field is called is settled by the first record: the usual names,
    or ``prediction_key``. null is a missing output, which is not the same as an empty one.

    Raises:
        DataError: it cannot be read, is no text, or no field in it is an output.
    """
    outputs: list[Output] = []
    key = identity = ""
    for number, record in _records(path, note, prediction_key):
        if not key:
            names = {name.lower(): name for name in reversed(list(record))}
            key = prediction_key or next((names[k] for k in PREDICTION_KEYS if k in names), "")
            identity = next((names[k] for k in KEYS["id"] if k in names), "")
            if key not in record:
                raise DataError(
                    f"{path}, record {number}: has no {key or 'output'} (but: "
                    f"{shortlist(sorted(record), 12)}); say which it is with --prediction-key"
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
    name = str(record[identity]) if record.get(identity) is not None else ""
    if record.get("schema_version") in (3, 4):
        summary = Summary.from_json(record)
    else:
        summary = Summary(text or "", name, "review" if text and text.strip() else "empty")
    references: list[str] = []
    for other, value in record.items():
        if other != key and _REFERENCES.fullmatch(other):
            references += value if isinstance(value, list) else [value]
    texts = tuple(text for text in references if isinstance(text, str) and text.strip())
    return Output(replace(summary, id=name), texts, missing=text is None)


def _records(path: Path, note: Note, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each record of a file with the number of its row, or of its line."""
    with reading(path):
        data = path.read_bytes()
    report = ProblemReporter(str(path), False, lambda problem: note(str(problem)), note)
    texts = [line.text for line in source_of_bytes(data, str(path)).lines(report)]
    delimiter = {".csv": ",", ".tsv": "\t"}.get(path.suffix.lower())
    if delimiter:
        csv.field_size_limit(1 << 28)  # the module's own is 128 kB
        table = io.StringIO("\n".join(texts).lstrip("\ufeff"), newline="")
        yield from enumerate(csv.DictReader(table, delimiter=delimiter), 1)
    elif not "".join(texts).lstrip("\ufeff \t").startswith(("{", "[", '"')):
        yield from ((number, {"prediction": text}) for number, text in enumerate(texts, 1))
    else:
        names = {key, *PREDICTION_KEYS, *KEYS["id"]}
        for number, value, *_ in json_values(source_of_bytes(data, str(path)), report):
            if isinstance(value, str):
                yield number, {"prediction": value}
            elif isinstance(value, dict) and (
                names & set(value) or not all(isinstance(v, str | None) for v in value.values())
            ):
                yield number, value
            elif isinstance(value, dict):  # an object of ids and texts
                yield from ((number, {"id": k, "prediction": v}) for k, v in value.items())


def beside(
    path: Path, placed: Sequence[Output], dialogues: Sequence[Dialogue], note: Note
) -> list[Output]:
    """Outputs of a file beside dialogues: by id, or without ids in their order.

    A dialogue that the file has no output for gets an empty one, which is marked as missing.

    Raises:
        DataError: ids are there twice, or none is in the data; or without ids the counts differ.
    """
    ids, wanted = [output.id for output in placed], [dialogue.id for dialogue in dialogues]
    chosen = list(placed)
    if not any(ids):
        if len(placed) != len(dialogues):
            raise DataError(
                f"{path}: {len(placed)} outputs without ids, but {len(dialogues)} dialogues"
            )
        note(f"{path}: has no ids: taken line by line")
    elif ids != wanted:
        for name, several in (("the data", wanted), (str(path), ids)):
            twice = [key for key, count in Counter(several).items() if count > 1]
            if twice:
                raise DataError(f"{name}: the id {shortlist(twice, 3)} is there more than once")
        unknown = set(ids) - set(wanted)
        if len(unknown) == len(ids):
            raise DataError(f"{path}: none of its ids ({shortlist(ids, 3)}) is in the data")
        if unknown:
            note(f"{path}: {len(unknown)} outputs of dialogues not evaluated here")
        by_id = dict(zip(ids, placed, strict=True))
        absent = Output(Summary("", status="empty"), missing=True)
        chosen = [by_id.get(key, absent) for key in wanted]
    return [output_of(o.summary, d, o.missing) for o, d in zip(chosen, dialogues, strict=True)]
