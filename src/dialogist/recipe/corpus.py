"""The dialogues of a recipe's data sets, and summaries made for those without.

Distillation takes the summaries of another system: of any that writes a file of outputs. Kim and
Rush 2016 call it sequence-level knowledge distillation. A small model copies its teacher's
mistakes: what a check complains about is left out, and the card says what was learned from whom.

RUN/teachers.json   of each file: its sha256, who wrote it, what was kept and left out, and why
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dialogist.data.chance import Chance
from dialogist.data.prepare import Preparation
from dialogist.formats import Condition, ReadOptions, ReadProblem, read_dialogues
from dialogist.data.shards import SetCounts
from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import Output, read_outputs
from dialogist.files import sha256_of, write_folder_atomically, write_text_atomically
from dialogist.recipe.recipe_config import DataSet, Recipe, TeacherConfig
from dialogist.records import JSON, Dialogue, Example
from dialogist.language.reported_speech import Conversation
from dialogist.language.tokens import FUNCTION_WORDS, counted
from dialogist.tokenizers import Tokenizer, TokenizerConfig, build_tokenizer, read_tokenizer

# Made summaries: what two speakers say of themselves and of each other, in reported speech.
#
# For training alone. A network learns from them who "I" and "you" are, which summaries teach it but
# seldom: each says so in the words of the dialogue, and would be wrong with any name exchanged.


_MOST = 3  # sentences of a made summary
_FEWEST_WORDS, _MOST_WORDS = 4, 24  # of a sentence that is told
_SHAKE = 0.3  # noise on how important one is, so that not all dialogues are told alike


def reported(dialogue: Dialogue) -> str | None:
    """One to three statements in the order of the dialogue; None: there is nothing to tell.

    Those whose words come back elsewhere in the dialogue, or, where it has references, in the
    first of them. The same dialogue is always told alike.
    """
    if len(dialogue.speakers) != 2:
        return None
    chance = Chance("reported", dialogue.id, *(u.text for u in dialogue.utterances[:2]))
    wanted = _content(dialogue.references[0]) if dialogue.references else _repeated(dialogue)
    found: list[tuple[float, int, str]] = []
    for sentence, told in _told(dialogue):
        words = _content(sentence)
        if _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS and len(words) >= 2:
            score = len(words & wanted) + _SHAKE * chance.share()
            found.append((score, len(found), told))
    best = sorted(found, key=lambda one: -one[0])[: 1 + chance.below(_MOST)]
    return " ".join(told for _, _, told in sorted(best, key=lambda one: one[1])) or None


def _told(dialogue: Dialogue) -> list[tuple[str, str]]:
    """The sentences that rules turn into the third person, each with how it is told."""
    conversation = Conversation([(u.speaker, u.text) for u in dialogue.utterances])
    return [
        (utterance.text[one.start : one.end], one.text)
        for turn, utterance in enumerate(dialogue.utterances)
        for one in conversation.report(turn)
        if one.kind == "reported"
    ]


def _content(text: str) -> set[str]:
    words = ("".join(c for c in word.lower() if c.isalnum()) for word in text.split())
    return {word for word in words if word} - FUNCTION_WORDS


def _repeated(dialogue: Dialogue) -> set[str]:
    """Content words of two utterances or more."""
    counts = Counter(word for u in dialogue.utterances for word in _content(u.text))
    return {word for word, count in counts.items() if count > 1}


# The data of a recipe as a stream: read, and every bad line reported; and their tokenizer.


Note = Callable[[str], None]

_SHOWN = 5  # bad records of a file that are told one by one; all are counted


class Corpus:
    """Some data sets as one stream of dialogues, less the excluded ones.

    ``counts`` says after (and during) each pass what was read and what was left out.
    """

    def __init__(self, sets: Sequence[DataSet], folder: Path, note: Note) -> None:
        self.sets = sets
        self.folder = folder
        self.note = note
        self.counts: list[SetCounts] = []

    def files(self) -> dict[str, Path]:
        """Every file that a pass reads, by its name in the recipe.

        Raises:
            DataError: one is missing.
        """
        names = [n for one in self.sets for n in (one.path, one.exclude) if n is not None]
        names += [one.teacher.outputs for one in self.sets if one.teacher is not None]
        found = {name: self.folder / name for name in names}
        for path in found.values():
            _require(path)
        return found

    def __iter__(self) -> Iterator[Dialogue]:
        """One pass.

        Raises:
            DataError: a file is missing or unreadable, or an exclusion file names unknown ids only.
        """
        self.counts = []
        for one in self.sets:
            yield from self._read(one)

    def _read(self, data: DataSet) -> Iterator[Dialogue]:
        path = self.folder / data.path
        _require(path)
        excluded = set() if data.exclude is None else _ids(self.folder / data.exclude)
        taken = bad = out = untold = 0
        teacher = data.teacher
        learned = None if teacher is None else teacher_references(teacher, self.folder)

        def report(problem: ReadProblem) -> None:
            nonlocal bad
            bad += 1
            if bad <= _SHOWN:
                self.note(str(problem))

        for dialogue in read_dialogues(path, _read_options(data), report, self.note):
            if dialogue.id in excluded:
                out += 1
                continue
            wanted = _with_references(dialogue, data, learned)
            if wanted is None:
                untold += 1
                continue
            taken += 1
            yield wanted
        left = out + untold
        self.counts.append(SetCounts(path=data.path, dialogues=taken, bad=bad, excluded=left))
        self._tell(data, taken + left, bad, out, untold)

    def _tell(self, data: DataSet, read: int, bad: int, out: int, untold: int) -> None:
        """What was left out.

        Raises:
            DataError: nothing was excluded.
        """
        path = self.folder / data.path
        if bad:
            self.note(f"{path}: {counted(bad, 'bad records')} left out, {read} read")
        if untold:
            why = "no rule reports what is said"
            if data.teacher is not None:
                why = f"no output in {data.teacher.outputs} passes the filters"
            self.note(f"{path.name}: {counted(untold, 'dialogues')} left out: {why}")
        if data.exclude is not None:
            if not out:
                raise DataError(f"{self.folder / data.exclude}: names no dialogue of {path}")
            self.note(f"{path.name}: {counted(out, 'rows')} excluded by {data.exclude}")


def _read_options(data: DataSet) -> ReadOptions:
    return ReadOptions(
        format=data.format,
        columns=data.columns,
        encoding=data.encoding,
        where=tuple(map(Condition.parse, data.where)),
        one_dialogue=data.one_dialogue,
        by_neighbours=data.by_neighbours,
        internal_notes=data.internal_notes,
    )


def _with_references(
    dialogue: Dialogue, data: DataSet, learned: Mapping[str, str] | None
) -> Dialogue | None:
    """The dialogue with the references that are asked for; None: there are none.

    ``learned``: a teacher's, by the dialogues' ids.
    """
    if learned is not None:
        text = learned.get(dialogue.id)
        return None if text is None else replace(dialogue, references=(text,))
    if data.references == "own":
        return dialogue
    summary = reported(dialogue)
    return None if summary is None else replace(dialogue, references=(summary,))


def read_sets(sets: Sequence[DataSet], folder: Path, note: Note) -> list[Dialogue]:
    """All dialogues of some data sets in memory; see `Corpus`."""
    return list(Corpus(sets, folder, note))


def named_sets(sets: Sequence[DataSet]) -> str:
    """``dev.jsonl as xsum``: the files of some data sets and how they were read."""
    return ", ".join(
        one.path if one.format == "auto" else f"{one.path} as {one.format}" for one in sets
    )


def _require(path: Path) -> None:
    if not path.exists():
        raise DataError(
            f"{path}: no such data file; give the data folder with --data or DIALOGIST_DATA"
        )


def _ids(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise DataError(f"{path}: the exclusion file cannot be read: {error.strerror}") from None


def tokenizer_texts(examples: Iterable[Example]) -> Iterator[str]:
    """What a tokenizer is trained on: every dialogue as one text, and every summary."""
    for example in examples:
        yield " ".join(f"{u.speaker} {u.text}".strip() for u in example.utterances)
        yield from example.targets


def settle_tokenizer(
    folder: Path,
    config: TokenizerConfig,
    examples: Iterable[Example],
    preparation: Preparation,
    note: Note,
) -> Tokenizer:
    """The tokenizer in ``folder``: made from ``examples`` at the first start, read afterwards.

    It has a token for each placeholder that ``preparation`` may put into a text, and for each label
    that it may put before one.
    """
    if not folder.exists():
        note(f"building the {config.kind} tokenizer")
        tokenizer = build_tokenizer(
            config,
            tokenizer_texts(examples),
            entities=preparation.masks_entities,
            speakers=preparation.has_speaker_tokens,
            labels=len(preparation.planned_labels),
        )
        write_folder_atomically(folder, tokenizer.save)
    return read_tokenizer(folder)


def teach_words(tokenizer: Tokenizer, examples: Iterable[Example], folder: Path) -> None:
    """Add the words of ``examples`` to a tokenizer that is another model's, and in ``folder``."""
    before = tokenizer.words
    tokenizer.learn_words(tokenizer_texts(examples))
    if tokenizer.words != before:
        write_folder_atomically(folder, tokenizer.save)


TEACHERS = "teachers.json"


def refusal_of(output: Output, teacher: TeacherConfig) -> str:
    """Why an output is not learned from; empty if it is."""
    if output.missing or not output.prediction.strip():
        return "no text"
    summary = output.summary
    if summary.status not in teacher.statuses:
        return f"status {summary.status}"
    kinds = sorted({w.kind for w in summary.warnings} & set(teacher.refuse))
    if kinds:
        return f"finding {kinds[0]}"
    words = len(output.prediction.split())
    if words < teacher.words[0] or words > teacher.words[1]:
        return f"not {teacher.words[0]} to {teacher.words[1]} words"
    return ""


def teacher_references(teacher: TeacherConfig, folder: Path) -> dict[str, str]:
    """The texts to learn from, by the dialogues' ids.

    Raises:
        DataError: the file cannot be read, has no ids, or one twice, or none of it is left.
    """
    found: dict[str, str] = {}
    for output in _outputs(teacher, folder):
        if not output.id or output.id in found:
            what = f"the id '{output.id}' twice" if output.id else "an output without an id"
            raise DataError(f"{folder / teacher.outputs}: holds {what}: whose summary is it?")
        if not refusal_of(output, teacher):
            found[output.id] = output.prediction
    if not found:
        raise DataError(f"{folder / teacher.outputs}: holds no output that the filters let through")
    return found


def _outputs(teacher: TeacherConfig, folder: Path) -> Iterator[Output]:
    path = folder / teacher.outputs
    placed = read_outputs(path, lambda problem: None, teacher.key, dialogues=False)
    return (one.output for one in placed)


def record_teachers(recipe: Recipe, data: Path, run: Path) -> None:
    """Write RUN/teachers.json, if any data set has a teacher; once, for files may change later."""
    path = run / TEACHERS
    pairs = [(one.path, one.teacher) for one in recipe.data.train if one.teacher is not None]
    if path.exists() or not pairs:
        return
    records: list[JSON] = []
    for dialogues, teacher in pairs:
        reasons = Counter(refusal_of(output, teacher) for output in _outputs(teacher, data))
        kept = reasons.pop("", 0)
        records.append(
            {
                "dialogues": dialogues,
                "outputs": teacher.outputs,
                "sha256": sha256_of(data / teacher.outputs),
                "system": teacher.system,
                "licence": teacher.licence,
                "kept": kept,
                "left_out": dict(reasons.most_common()),
            }
        )
    write_text_atomically(path, json.dumps(records, ensure_ascii=False, indent=2) + "\n")


def card_lines(run: Path) -> list[str]:
    """What the model card says of teachers."""
    path = run / TEACHERS
    if not path.exists():
        return []
    lines = ["## Learned from other systems", ""]
    for one in json.loads(path.read_text(encoding="utf-8")):
        left = ", ".join(f"{count:,} for {why}" for why, count in one["left_out"].items())
        by = one["system"] or "a system that is not named"
        under = f" under {one['licence']}" if one["licence"] else ""
        lines.append(
            f"* {one['kept']:,} summaries of {one['dialogues']} were written by {by}{under} "
            f"({one['outputs']}, sha256 {one['sha256'][:16]}); left out: {left or 'none'}"
        )
    return [*lines, ""]
