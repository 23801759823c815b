"""Write the tables of results in README and docs from results/*.json.

    python bench/results_page.py

Each table stands between the marks ``<!-- table: NAME -->`` and ``<!-- /table -->``. No number in
them is typed by hand, and a test says where one is out of date.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(
    ROOT / f"{name}.md"
    for name in (
        *("README", "docs/results", "docs/papers", "docs/notes/what-did-not-help"),
        *("docs/tutorials/train-your-own", "docs/how-to/batch", "docs/how-to/deploy"),
        *("docs/explanation/scaling", "docs/explanation/trust", "docs/how-to/mask"),
        "docs/reference/summary",
    )
)
BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- /table -->)", re.S)
SETS = {"dialogsum-dev": "DialogSum", "samsum-val": "SAMSum", "tweetsumm-valid": "TweetSumm"}
SYSTEMS = {
    "default, its network (free style)": "the network of release 0.2 (removed)",
    "gemma-270m-dialogsum (SAMSum: 100 dialogues)": "Gemma 3 270M, fine-tuned",
    "one sentence for all": "one sentence for all",
    "lead-3": "lead-3",
    "oracle extract": "oracle extract",
    "people (one against the others)": "people (one against the others)",
}
"""Rows of the headline table, and what they are called there; results/systems.json has all."""


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(text: str) -> str:
    """The page with every table made anew."""
    return BLOCK.sub(lambda m: m[1] + "\n".join(rows_of(m[2])) + "\n" + m[3], text)


def rows_of(name: str) -> Iterator[str]:
    """The lines of a table by its name."""
    if name in ("papers-claims", "papers-slips"):
        return papers_lines(name.removeprefix("papers-"))
    rows: Iterator[str] = globals()[name.replace("-", "_")]()
    return rows


def masks() -> Iterator[str]:
    """What stays by type, ordinary / hard values, ours and Presidio's."""
    sets = results("masks")["sets"]

    def row(name: str, kind: dict[str, list[int]]) -> list[str]:
        cells = []
        for who in list(kind)[1:]:
            pairs = zip(kind[who], kind["values"], strict=True)
            cells.append(" / ".join(f"{100 * s / n:.1f}%" if n else "-" for s, n in pairs))
        return [f"{name} ({' / '.join(map(str, kind['values']))})", *cells]

    rows = [row(f"**{name}**", kinds["all"]) for name, kinds in sets.items()]
    told = (k for k in sets["independent"].items() if k[0] != "all" and sum(k[1]["values"]) >= 45)
    kinds = {k.replace("_", " "): v for k, v in told}
    rows += [row(name, kind) for name, kind in kinds.items()]
    yield from table(("values that stay, ordinary / hard", *list(sets["own"]["all"])[1:]), rows)


def verifier() -> Iterator[str]:
    """What the verifier of this machine tells apart."""
    rows = [
        [
            f"{name} ({found['true']} true, {found['false']} false)",
            f"{found['area']:.3f}",
            f"{100 * found['caught']:.0f}%",
            " / ".join(f"{100 * share:.0f}%" for share in found["supported"]),
            " / ".join(f"{100 * share:.0f}%" for share in reversed(found["refused"])),
        ]
        for name, found in results("verifier")["sets"].items()
    ]
    caught = "false caught at 5% false alarms"
    called = ("supported: true / false", "refused: false / true")
    yield from table(("statements", "area under the ROC curve", caught, *called), rows)


READ = {
    "turns": "whole turns, as today",
    "long": "clauses, before",
    "hard-turns": "whole turns, of hard dialogues",
    "fresh-turns": "whole turns, of other hard ones",
}
"""Some sets of verdicts, and what they are called."""


def readiness() -> Iterator[str]:
    """How well what is called ready would be filed."""
    sets = results("readiness")["sets"]
    rows = []
    for name, title in READ.items():
        read = sets[name]
        shares = [read[key] for key in ("filed", "called ready", "of these filed")]
        filed, *called = ("" if share is None else f"{share:.0%}" for share in shares)
        rows.append([title, str(read["verdicts"]), filed, f"{read['area']:.2f}", *called])
    head = ("highlights of", "verdicts", "filed", "area under the ROC curve")
    return table((*head, "called ready", "of these filed"), rows)


def figures(name: str) -> Any:
    return results(name)["figures"]


@cache
def results(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"


def reading() -> Iterator[str]:
    """What blind readers found in two versions of summaries: the newest sheets."""
    rows = []
    sheets = results("blind-reading")["sheets"]
    for sheet in (sheets["sheet-13"], sheets["sheet-16"]):
        readers = sheet["readers"]
        for version, label in sheet["versions"].items():
            better = " / ".join(str(reader["better"][version]) for reader in readers)
            name = f"{label} ({readers[0]['dialogues']} dialogues)"
            rows.append([name, *found(readers, version).values(), better])
    head = ["a number for each reader", "wrong statements", "vague", "useful, 1 to 5"]
    return table([*head, "filed unread", "better of two"], rows)


def found(readers: Sequence[Mapping[str, Any]], version: str) -> dict[str, str]:
    """What each reader found in one version of the summaries of a sheet."""
    counts = [reader[version] for reader in readers]
    totals = [sum(own[word] for word in ("ok", "vague", "wrong")) for own in counts]
    columns = {
        "wrong": [str(own["wrong"]) for own in counts],
        "vague": [f"{100 * own['vague'] / n:.0f}%" for own, n in zip(counts, totals, strict=True)],
        "useful": [f"{own['useful']:.2f}" for own in counts],
        "unread": [str(own["would file unread"]) for own in counts],
    }
    cells = {name: " / ".join(column) for name, column in columns.items()}
    return {**cells, "wrong": f"{cells['wrong']} of {max(totals)}"}


WRITERS = {
    "highlights": ("turns", "after", "highlights (quotes, no model)"),
    "smollm2": ("smollm2", "before", "SmolLM2 135M alone"),
    "smollm2, grounded": ("smollm2", "after", "SmolLM2 135M, grounded"),
    "qwen": ("qwen", "before", "Qwen2.5-Coder 0.5B alone"),
    "qwen, grounded": ("qwen", "after", "Qwen2.5-Coder 0.5B, grounded"),
    "strong model": ("strong", "after", "strong model, grounded"),
}
"""Writers by their names among the words of writers.json: sheet, version, and name in the table."""


def writers() -> Iterator[str]:
    """What blind readers found in what writers wrote of the same 100 dialogues."""
    rows = [[*row, *facts, words] for row, facts, words in _writers(WRITERS)]
    head = ["writer (a number for each reader)", "wrong statements", "vague", "useful, 1 to 5"]
    return table([*head, "filed unread", "facts held", "at least in part", "words"], rows)


def writers_in_short() -> Iterator[str]:
    """Three writers, in fewer columns."""
    kept = [name for name in WRITERS if name in ("highlights", "qwen, grounded", "strong model")]
    rows = [[*row[:2], *row[3:], facts[0]] for row, facts, _ in _writers(kept)]
    head = ["writer (a number for each reader)", "wrong statements", "useful, 1 to 5"]
    return table([*head, "filed unread", "facts held"], rows)


def _writers(names: Iterable[str]) -> Iterator[tuple[list[str], list[str], str]]:
    """Of each writer that has been read: its name and what was found, shares of facts, words."""
    measured = results("writers")
    for name in names:
        sheet, version, label = WRITERS[name]
        if sheet not in measured["sheets"]:
            continue
        readers = measured["sheets"][sheet]["readers"]
        facts = [
            " / ".join(f"{100 * r[version][kind] / measured['key facts']:.0f}%" for r in readers)
            for kind in ("facts", "loosely")
        ]
        words = measured["words"].get(name)
        yield (
            [label, *found(readers, version).values()],
            facts,
            f"{words:.0f}" if words else "",
        )


def planted() -> Iterator[str]:
    """Statements that were planted: what verification by asking said of them."""
    told = results("writers")["planted"]
    rows = [
        [f"{told['true']} true ones of the model", f"{told['true flagged']} flagged"],
        [f"{told['false']} false ones of nine kinds", f"{told['false let through']} let through"],
    ]
    return table(["statements", "asked"], rows)


def throughput() -> Iterator[str]:
    """A batch through a language model beside a bare client, and again with a warm cache."""
    measured = figures("writers-throughput")
    first, bare = measured["batch_requests"], measured["bare_seconds"]
    trials = [
        ("bare asynchronous client", first, bare),
        ("`dialogist batch`, first request to last answer", first, bare / measured["ratio"]),
        ("the whole command", first, measured["batch_seconds"]),
        ("the same batch again", measured["again_requests"], measured["again_seconds"]),
    ]
    rows = [[name, f"{requests}", f"{seconds:.1f} s"] for name, requests, seconds in trials]
    return table(["", "requests", "time"], rows)


def systems() -> Iterator[str]:
    """ROUGE-1, -2, and -L with its interval."""
    rows = []
    for name, shown_name in SYSTEMS.items():
        scores = [figures("systems")[name].get(key, {}) for key in SETS]
        cells = [
            f"{s['rouge1']}/{s['rouge2']}/{shown(s['rougeL'])}" if "rougeL" in s else ""
            for s in scores
        ]
        rows.append([shown_name, *cells])
    return table(["ROUGE-1/2/L", *SETS.values()], rows)


def speed() -> Iterator[str]:
    """Summaries a second and memory; training."""
    quotes, training = figures("speed")["highlights"], figures("speed")["training"]
    rows = [
        [
            "highlights, one core",
            f"{quotes['summaries_per_second']} a second of processor time",
            f"{quotes['memory_mb']} MB",
        ],
        [
            "training the reports' network, bf16",
            f"{training['examples_per_second_bf16']:.0f} examples a second, "
            f"{training['times_keras3']} times Keras 3",
            "",
        ],
    ]
    return table(["what", "speed", "memory"], rows)


def finetune() -> Iterator[str]:
    """What fine-tuning MiniLM on the chats of TweetSumm gave."""
    measured = results("finetune-tweetsumm")["minilm"]
    rows = []
    for label in ("first three sentences", "fine-tuned"):
        scores = measured[re.sub(r"\W", "_", label)]
        rows.append([label, *(f"{scores[kind]:.1f}" for kind in ("rouge1", "rouge2", "rougeL"))])
    return table(["", "ROUGE-1", "ROUGE-2", "ROUGE-L"], rows)


def loads() -> Iterator[str]:
    """What so many dialogues a day need."""
    measured = results("scaling")["faithful"]["measured"]
    rows = []
    for name, count in (("10 million", 10_000_000), ("1 billion", 1_000_000_000)):
        second = count / 86_400
        cores = math.ceil(second * measured["worker_core_seconds"])
        written = f"{count * measured['bytes_written'] / 1e9:,.0f} GB"
        rows.append([name, f"{second:,.0f}", f"{cores:,}", written])
    return table(["dialogues a day", "a second", "cores", "written"], rows)


def jobs() -> Iterator[str]:
    """Batch jobs: a million records, and kills."""
    million = figures("jobs")["million"]
    rows = [
        [
            f"{million['records']:,} records, {million['workers']} workers, a writer that takes "
            "no time",
            f"{million['per_second']:,} a second; main process {million['peak_mb_main']} MB, "
            f"worker {million['peak_mb_others'][0]} MB",
        ]
    ]
    for key, of_what in (("kills", ""), ("ray_kills", ", of Ray's workers and of its driver")):
        killed = figures("jobs")[key]
        rows.append(
            [
                f"{killed['kills']} kills in a job of {killed['records']:,} records{of_what}",
                f"each id once: {yes(killed['every_id_once'])}; equal bytes: "
                f"{yes(killed['equal_bytes'])}",
            ]
        )
    return table(["job (loaded machine)", "result"], rows)


def service() -> Iterator[str]:
    """The service beside the bare summarizer, under load, and while parts of it die."""
    trials = figures("serve-load")
    ratio, overload, slow, soak = (
        trials[name] for name in ("ratio", "overload", "slow_clients", "soak")
    )
    low, high = min(ratio["service_per_second"]), max(ratio["service_per_second"])
    batches = [trials[name]["batch"] for name in ("kill_worker", "kill_store")]
    done = [f"{batch['done']} done, {batch['failed']} failed" for batch in batches]
    reloads = trials["reload"]
    rows = [
        [
            "one process, all clients busy",
            f"{low} to {high} summaries a second, {ratio['share']:.0%} of the bare summarizer",
        ],
        [
            f"overload: {overload['sent']:,} requests",
            f"{overload['answers']['200']:,} answered, 99% within "
            f"{overload['accepted_p99_ms']:,.0f} ms; the others refused within "
            f"{overload['refused_p99_ms']:.0f} ms",
        ],
        [
            f"{slow['half_open']} clients that send nothing",
            f"99% of the others within {slow['beside_p99_ms']:.0f} ms; alone "
            f"{slow['alone_p99_ms']:.0f} ms",
        ],
        [
            f"{reloads['reloads']} reloads under load",
            ", ".join(f"{n} answers {code}" for code, n in reloads["answers"].items()),
        ],
        [f"a worker, or the store, killed in a batch of {batches[0]['total']}", "; ".join(done)],
        [
            f"{soak['seconds'] / 60:.0f} minutes at 80% of the capacity",
            f"memory {soak['memory_mib'][0]:.0f} to {soak['memory_mib'][1]:.0f} MiB; "
            f"{soak['answers']['200']:,} of {sum(soak['answers'].values()):,} answered",
        ],
    ]
    return table(["trial", "result"], rows)


def yes(value: bool) -> str:
    return "yes" if value else "**no**"


def no_gain() -> Iterator[str]:
    """One line for each change that was tried and did not help."""
    return (f"* {what}: {result}" for what, result, _ in figures("no-gain"))


SYSTEM = {
    "system": "{paper}: {system}<br>`{recipe}`",
    "paper": "{theirs}<br>*{their_budget}*",
    "here": "{ours}<br>*{our_budget}*",
    "held?": "**{verdict}**. {why}",
}
"""Columns of the systems of the papers, and how each is made of a record of papers.json."""

LINES = {"claims": "* {claim}: **{verdict}**. {evidence}", "slips": "* {slip} → {fact}"}
"""How a claim and a slip of a paper are written."""

_FIGURE = re.compile(r"\{([^{}]+)\}")


def papers_systems() -> Iterator[str]:
    """Every system of the papers beside what was reached here."""
    rows = [
        [cell.format(**texts).replace("<br>**", "") for cell in SYSTEM.values()]
        for texts in map(quoted, figures("papers")["systems"])
    ]
    return table(list(SYSTEM), rows)


def papers_lines(name: str) -> Iterator[str]:
    """Claims or slips, paper by paper."""
    paper = ""
    for texts in map(quoted, figures("papers")[name]):
        if texts["paper"] != paper:
            paper = texts["paper"]
            yield from ("", f"**{paper}**", "")
        yield LINES[name].format(**texts)


def shown(value: Any) -> str:
    """A figure, with its interval if it has one."""
    if isinstance(value, dict):
        return f"{value['figure']} ({value['low']} to {value['high']})"
    return str(value)


def quoted(row: Mapping[str, str]) -> dict[str, str]:
    """A record of papers.json with figures for ``{path}``.

    A path begins in the record's ``from``, or, as ``{/file/path}``, in another file.
    """

    def figure(match: re.Match[str]) -> str:
        path = match[1] if match[1].startswith("/") else f"/{row['from']}/{match[1]}"
        _, file, *keys = path.split("/")
        value = results(file)
        for key in keys if keys[0] in ("cost", "data") else ("figures", *keys):
            value = value[key]
        return shown(value)

    return {key: _FIGURE.sub(figure, text) for key, text in row.items()}


if __name__ == "__main__":
    main()
