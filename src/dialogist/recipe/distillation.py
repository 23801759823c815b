"""Distillation: references that another system wrote, filtered, and where they came from.

The other system is any that writes an outputs file: ``dialogist summarize --format jsonl``, the
predictions of ``evaluate`` (an endpoint's, too), or anybody's. Kim and Rush 2016 call it
sequence-level knowledge distillation. A small model copies its teacher's mistakes: what a check
complains about is left out, and the card says what was learned from whom.

RUN/teachers.json   of each file: its sha256, who wrote it, what was kept and left out, and why
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import Output, read_outputs
from dialogist.files import sha256_of, write_text_atomically
from dialogist.recipe.recipe_config import Recipe, TeacherConfig
from dialogist.records import JSON

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
