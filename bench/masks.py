"""What masks leave and what they take too much: own values in many wordings, ours beside Presidio.

``bench/data/masks.jsonl`` holds the wordings: type, hard or not, the conversation around them, the
turns with the value in ``[[ ]]``. ``--presidio`` names a Python that has presidio-analyzer.

    PYTHONPATH=src python bench/masks.py --presidio PYTHON --clean corpus/*.jsonl
"""

import argparse
import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dialogist import Dialogue, read_dialogues
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.packs import privacy_of
from dialogist.records import Utterance

DATA = Path(__file__).parent / "data" / "masks.jsonl"
CLEAN_DATA = DATA.with_name("masks-clean.jsonl")
CLEAN = 300  # dialogues
Turns = tuple[tuple[str, str], ...]
Places = set[tuple[int, int]]
"""Characters: turn, place."""


class Case(NamedTuple):
    """A conversation with one value, which stands in pieces: turn, start, end."""

    type: str
    hard: bool
    turns: Turns
    pieces: tuple[tuple[int, int, int], ...]


def cases() -> Iterator[Case]:
    """All values."""
    first, *lines = map(json.loads, DATA.read_text("utf-8").splitlines())
    for kind, hard, setting, said in lines:
        before, after = first["around"][setting]
        turns: list[tuple[str, str]] = []
        pieces: list[tuple[int, int, int]] = []
        for text in (*before, *said, *after):
            bare = ""
            for n, piece in enumerate(re.split(r"\[\[|\]\]", text)):
                pieces += [(len(turns), len(bare), len(bare + piece))] * (n % 2)
                bare += piece
            turns.append(("AB"[len(turns) % 2], bare))
        yield Case(kind, bool(hard), tuple(turns), tuple(pieces))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Lines of JSON."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def independent_cases() -> Iterator[Case]:
    """The values of dialogues whose writers had seen no rule."""
    for record in read_lines(DATA.with_name("masks-independent.jsonl")):
        turns = tuple(map(tuple, record["turns"]))
        for turn, text, kind, hard in record["values"]:
            start = turns[turn][1].index(text)
            yield Case(kind, hard, turns, ((turn, start, start + len(text)),))


def stays(case: Case, masked: Places) -> bool:
    """Whether more than half of the value's letters and digits can still be read."""
    places = [(turn, i) for turn, start, end in case.pieces for i in range(start, end)]
    telling = [(turn, i) for turn, i in places if case.turns[turn][1][i].isalnum()]
    return sum(place not in masked for place in telling) > len(telling) / 2


def ours(turns: Turns, names: str = "none") -> Places:
    """The characters that our masks cover."""
    dialogue = Dialogue(tuple(Utterance(*turn) for turn in turns))
    masked, table = mask_dialogue(dialogue, privacy_of(names=names))
    return {
        (n, i)
        for n, turn in enumerate(masked.utterances)
        for start, end, _ in table.masked(n, turn.text, False).spans
        for i in range(start, end)
    }


def theirs(python: str, dialogues: Sequence[Turns], least: float) -> list[Places]:
    """The characters that Presidio's own recognizers cover, with a score of at least ``least``."""
    lines = "".join(json.dumps("\n".join(text for _, text in d)) + "\n" for d in dialogues)
    command = [python, str(Path(__file__).with_name("presidio_spans.py")), str(least)]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    found = []
    for turns, line in zip(dialogues, done.stdout.splitlines(), strict=True):
        places = [(n, i) for n, (_, text) in enumerate(turns) for i in range(len(text) + 1)]
        found.append({places[i] for start, end in json.loads(line) for i in range(start, end)})
    return found


def words_masked(turns: Turns, masked: Places) -> int:
    """How many words are covered."""
    words = ((n, word) for n, (_, text) in enumerate(turns) for word in re.finditer(r"\w+", text))
    return sum((n, word.start()) in masked for n, word in words)


def clean_dialogues(files: Sequence[Path]) -> list[Turns]:
    """As many dialogues of each file, the same in every run."""
    dice = random.Random(27)
    share = -(-CLEAN // len(files))
    found = [d for f in files for d in dice.sample(list(read_dialogues(f)), share)][:CLEAN]
    return [tuple((u.speaker, u.text) for u in dialogue.utterances) for dialogue in found]


def main() -> None:
    """Print what stays, by set and type, as JSON: the measured part of results/masks.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presidio", help="a Python that has presidio-analyzer")
    parser.add_argument("--clean", nargs="*", type=Path, default=[], help="more without such data")
    given = parser.parse_args()
    sets = {"independent": list(independent_cases()), "own": list(cases())}
    every = [case for some in sets.values() for case in some]
    records = read_lines(CLEAN_DATA)
    clean = [tuple(map(tuple, record["turns"])) for record in records]
    groups = [record.get("set", "own") for record in records]
    more = clean_dialogues(given.clean) if given.clean else []
    clean, groups = clean + more, groups + ["more"] * len(more)
    runs = {"ours": [ours(c.turns, "people" if "name" in c.type else "none") for c in every]}
    covered = {f"ours, names {n}": [ours(t, n) for t in clean] for n in ("none", "people")}
    for least in (0, 0.4) if given.presidio else ():
        name = f"Presidio from {least}"
        both = theirs(given.presidio, [*(c.turns for c in every), *clean], least)
        runs[name], covered[name] = both[: len(every)], both[len(every) :]
    result: dict[str, object] = {"sets": {}}
    place = 0
    for name, some in sets.items():
        masked = {who: found[place : place + len(some)] for who, found in runs.items()}
        place += len(some)
        result["sets"][name] = {  # type: ignore[index]
            kind: {
                "values": [sum(fits(c, kind, hard) for c in some) for hard in (False, True)],
                **{
                    who: [
                        sum(
                            stays(c, m)
                            for c, m in zip(some, found, strict=True)
                            if fits(c, kind, hard)
                        )
                        for hard in (False, True)
                    ]
                    for who, found in masked.items()
                },
            }
            for kind in ["all", *sorted({case.type for case in some})]
        }
    result["clean"] = {}
    for group in dict.fromkeys(groups):
        own = [n for n, name in enumerate(groups) if name == group]
        result["clean"][group] = {  # type: ignore[index]
            "dialogues": len(own),
            "words": sum(len(re.findall(r"\w+", text)) for n in own for _, text in clean[n]),
            "masked": {
                who: sum(words_masked(clean[n], found[n]) for n in own)
                for who, found in covered.items()
            },
        }
    print(json.dumps(result, indent=1))


def fits(case: Case, kind: str, hard: bool) -> bool:
    """Whether a value is of a row of the table."""
    return case.hard == hard and kind in (case.type, "all")


if __name__ == "__main__":
    main()
