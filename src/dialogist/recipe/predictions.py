"""Summaries that are kept as they come, so that an interrupted evaluation goes on where it was.

One JSON line per dialogue (`output_to_json`), which `read_outputs` reads as it reads anyone's. Its
``key`` is a digest of the dialogue, the system and our own code: a line is taken again only for
the very same of all three.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import torch

import dialogist
from dialogist.data.readers.fields import dialogue_to_json
from dialogist.decoding import DecodingOptions
from dialogist.engine.options import SummaryOptions
from dialogist.engine.summarizer import SummarizerLike
from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import Output, PredictionKeys, output_of
from dialogist.files import sha256_of, write_text_atomically
from dialogist.records import (
    JSON,
    Dialogue,
    Summary,
)
from dialogist.selection.network import BUNDLED
from dialogist.training.run_logs import JsonLines

_WINDOW = 64

PredictionLine = dict[str, JSON]

_KEYS = PredictionKeys("prediction", "id", dialogue=False)


def key_of(
    name: str, folder: Path | None, device: str, options: DecodingOptions | None = None
) -> str:
    """A digest of a system (``folder``: its model's; None: a baseline) and of what runs it.

    ``options``: those of the search, None: the model's own.
    """
    paths = [] if folder is None else sorted(p for p in folder.iterdir() if p.is_file())
    if isinstance(options, SummaryOptions) and options.style == "faithful":
        paths = [*paths, BUNDLED]
    files = [(path.name, sha256_of(path)) for path in paths]
    search = None if options is None else options.model_dump(mode="json", exclude_unset=True)
    return _digest([name, files, device, search, torch.__version__, _code()])


def summarize_kept(
    system: SummarizerLike,
    key: str,
    dialogues: Sequence[Dialogue],
    path: Path,
    tell: Callable[[int], None],
    options: DecodingOptions | None = None,
) -> list[Summary]:
    """Summaries of all dialogues, in order; those that ``path`` holds are not made again.

    ``path`` holds exactly these afterwards. ``tell`` is called with the number of those done.

    Raises:
        DataError: the file there was not written here.
    """
    keys = [_digest([key, *_content(dialogue)]) for dialogue in dialogues]
    wanted = set(keys)
    # What failed is tried again: it may have been for want of memory.
    kept = _read(path).items()
    lines = {k: line for k, line in kept if k in wanted and line["status"] != "error"}
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, lines.values())
    log = JsonLines(path)
    missing = ((k, one) for k, one in zip(keys, dialogues, strict=True) if k not in lines)
    while group := list(islice(missing, _WINDOW)):
        tell(len(lines))
        found = system.summarize([dialogue for _, dialogue in group], options)
        for (k, dialogue), summary in zip(group, found, strict=True):
            lines[k] = output_to_json(k, Output.of(summary, dialogue))
            log.append(lines[k])
    _write(path, [lines[k] for k in keys])
    return [output_of(lines[k], _KEYS).summary for k in keys]


def _content(dialogue: Dialogue) -> tuple[object, ...]:
    """All of a dialogue that a summary can depend on, and its id."""
    return dialogue.id, [[u.speaker, u.text, u.role] for u in dialogue.utterances]


def _read(path: Path) -> dict[str, PredictionLine]:
    try:
        lines = {str(line["key"]): line for line in JsonLines(path).read()}
        for line in lines.values():
            output_of(line, _KEYS)
    except (OSError, ValueError, TypeError, KeyError, DataError):
        raise DataError(
            f"{path}: is no file of predictions of ours (or an older version's): move it away, or "
            "give another place with --predictions"
        ) from None
    return lines


def _write(path: Path, lines: Iterable[PredictionLine]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_text_atomically(path, text)


@cache
def _code() -> str:
    """A digest of this package's own code: other code may say something else."""
    root = Path(dialogist.__file__).parent
    return _digest([[str(p.relative_to(root)), sha256_of(p)] for p in sorted(root.rglob("*.py"))])


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:24]


def output_to_json(key: str, output: Output) -> dict[str, JSON]:
    """A line of a predictions file; ``key`` is a digest of what it was made of."""
    summary, dialogue = output.summary, output.dialogue
    about = {} if dialogue is None else dialogue_to_json(dialogue)
    return {
        "key": key,
        "id": summary.id,
        "prediction": summary.text,
        "key_points": [[part.label, part.text] for part in summary.key_points],
        "references": list(output.references if dialogue is None else dialogue.references),
        "status": summary.status,
        "warnings": [[warning.kind, warning.message] for warning in summary.warnings],
        **{name: about[name] for name in ("turns", "metadata") if name in about},
    }
