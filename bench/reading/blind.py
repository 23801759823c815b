"""Two versions of summaries read blind: make the sheet, then count what readers found.

    python bench/reading/blind.py sheet DIALOGUES BEFORE AFTER FOLDER --seed 7
    python bench/reading/blind.py count FOLDER VERDICTS... --commit AFTER --name sheet-2

DIALOGUES are JSON lines with `id` and `turns`, BEFORE and AFTER what ``dialogist summarize --format
jsonl`` wrote of them. The sheet shows each dialogue with the statements of both versions as A and
B, by chance; `key.json` keeps which is which. A reader's VERDICTS are JSON lines, one a dialogue:

    {"id": "r01", "A": ["ok", "vague"], "B": ["wrong"], "useful": {"A": 3, "B": 4}, "better": "B",
     "prose": "equal", "facts": {"A": 2, "B": 3}}
"""

import argparse
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "results"
VERSIONS = ("before", "after")
VERDICTS = ("ok", "vague", "wrong")


def records(path: Path) -> dict[str, dict[str, Any]]:
    """JSON lines by their ids."""
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {record["id"]: record for record in lines}


def statements(summary: Mapping[str, Any]) -> list[str]:
    """The texts of a summary's statements; `sentences` is what schema 3 called them."""
    return [part["text"] for part in summary.get("statements", summary.get("sentences", ()))]


def sheet(arguments: argparse.Namespace) -> None:
    """Write `sheet.md` and `key.json` into a folder."""
    chance, key, pages = random.Random(arguments.seed), {}, []
    summaries = {name: records(getattr(arguments, name)) for name in VERSIONS}
    for id_, dialogue in records(arguments.dialogues).items():
        key[id_] = order = chance.sample(VERSIONS, 2)
        lines = [f"## {id_}", ""]
        lines += [f"[{n}] {who}: {text}" for n, (who, text) in enumerate(dialogue["turns"], 1)]
        if facts := dialogue.get("facts"):
            lines += ["", "Key facts:", *(f"- {fact}" for fact in facts)]
        for letter, version in zip("AB", order, strict=True):
            texts = statements(summaries[version][id_])
            lines += [
                "",
                f"Summary {letter}:",
                *(f"{letter}{n} {t}" for n, t in enumerate(texts, 1)),
            ]
        pages.append("\n".join(lines))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "sheet.md").write_text("\n\n".join(pages) + "\n", "utf-8")
    (arguments.folder / "key.json").write_text(json.dumps(key), "utf-8")


def counts_of(
    verdicts: Iterable[Mapping[str, Any]], key: Mapping[str, list[str]]
) -> dict[str, Any]:
    """What one reader found: by version, and which version is better."""
    found: dict[str, Any] = {
        name: dict.fromkeys((*VERDICTS, "dialogues wrong"), 0) for name in VERSIONS
    }
    sums = {name: dict.fromkeys(("useful", "filed", "facts", "loosely"), 0) for name in VERSIONS}
    preferred = {what: dict.fromkeys((*VERSIONS, "equal"), 0) for what in ("better", "prose")}
    dialogues = 0
    for verdict in verdicts:
        version = dict(zip("AB", key[verdict["id"]], strict=True))
        dialogues += 1
        for letter, name in version.items():
            for word in verdict[letter]:
                found[name][word] += 1
            found[name]["dialogues wrong"] += "wrong" in verdict[letter]
            sums[name]["useful"] += verdict["useful"][letter]
            sums[name]["filed"] += verdict["useful"][letter] >= 4
            for what in ("facts", "loosely"):
                sums[name][what] += verdict.get(what, {}).get(letter, 0)
        for what, numbers in preferred.items():
            numbers[version.get(verdict[what], "equal")] += 1
    for name in VERSIONS:
        found[name]["useful"] = round(sums[name]["useful"] / dialogues, 2)
        found[name]["would file unread"] = sums[name]["filed"]
        found[name] |= {what: sums[name][what] for what in ("facts", "loosely")}
    return {"dialogues": dialogues, **found, **preferred}


def count(arguments: argparse.Namespace) -> None:
    """Print what all readers found, and store it."""
    key = json.loads((arguments.folder / "key.json").read_text("utf-8"))
    readers = [counts_of(records(path).values(), key) for path in arguments.verdicts]
    path = RESULTS / f"{arguments.into}.json"
    stored = json.loads(path.read_text("utf-8"))
    stored["sheets"][arguments.name] = {
        "what": arguments.what,
        "commits": {"before": arguments.before, "after": arguments.commit},
        "readers": readers,
    }
    text = json.dumps(stored, indent=1) + "\n"
    path.write_text(text, "utf-8")
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    made = commands.add_parser("sheet")
    for name in ("dialogues", "before", "after", "folder"):
        made.add_argument(name, type=Path)
    made.add_argument("--seed", type=int, default=7)
    made.set_defaults(run=sheet)
    counted = commands.add_parser("count")
    counted.add_argument("folder", type=Path)
    counted.add_argument("verdicts", type=Path, nargs="+")
    counted.add_argument("--before", default="eaf99958", help="commit of version `before`")
    counted.add_argument("--commit", required=True, help="commit of version `after`")
    counted.add_argument("--name", required=True, help="of the sheet there")
    counted.add_argument("--what", default="", help="which dialogues it has")
    counted.add_argument("--into", default="blind-reading", help="the file of results/")
    counted.set_defaults(run=count)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
