"""Floors and ceilings of data sets: ROUGE F1 with 95% intervals, as Markdown.

python bench/floors.py DATA/dialogsum/dev.jsonl DATA/tweetsumm/valid.jsonl --seed 1
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from dialogist.baselines.names import baseline
from dialogist.data.readers import ReadOptions, read_dialogues
from dialogist.evaluation.ceilings import HUMAN, Oracle, human_scores, leave_one_out
from dialogist.evaluation.outputs.output import Output
from dialogist.evaluation.scoring.score import score
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.resampling import Resampling, intervals
from dialogist.metrics.rouge import Rouge
from dialogist.text.words import words_of

SYSTEMS = ("lead-1", "lead-3", "longest-1", "longest-3", "random-3", "textrank-3", "lexrank-3")
KEYS = ("rouge1.f1", "rouge2.f1", "rougeL.f1", "rougeLsum.f1")


def rows(outputs_of: Mapping[str, Sequence[Output]]) -> Iterator[tuple[Scores, float]]:
    """Scores and mean words of every system; of people, where there are several references."""
    for name, outputs in outputs_of.items():
        words = fmean(len(words_of(one.prediction)) for one in outputs)
        yield score(name, outputs, [Rouge()], processes=1), words
    human = human_scores(outputs, [Rouge()], processes=1)
    if human is not None:
        said = [
            len(words_of(one.prediction)) for output in outputs for one in leave_one_out(output)
        ]
        yield human, fmean(said)


def table(path: Path, names: Sequence[str], options: Resampling) -> None:
    """Print one data set's."""
    read = read_dialogues(path, ReadOptions(), print)
    dialogues = [dialogue for dialogue in read if any(map(str.strip, dialogue.references))]
    systems = {name: Oracle() if name == "oracle" else baseline(name) for name in names}
    outputs_of = {
        name: [Output.of(s, d) for s, d in zip(system.summarize(dialogues), dialogues, strict=True)]
        for name, system in systems.items()
    }
    references = fmean(len(dialogue.references) for dialogue in dialogues)
    what = f"{len(dialogues)} dialogues, {references:.2f} references each"
    print(f"\n{path.parent.name}/{path.name}: {what}\n")
    print("| system | words | R1 | R2 | RL | RLsum |\n|---|---|---|---|---|---|")
    for scores, words in rows(outputs_of):
        found = intervals(scores, options, KEYS)
        cells = [f"{i.figure:.2f} ({i.low:.1f}-{i.high:.1f})" for i in found.values()]
        name = scores.system if scores.system == HUMAN else f"`{scores.system}`"
        print(f"| {name} | {words:.1f} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print a table for every file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--systems", nargs="*", default=[], help="more baselines")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    options = Resampling(seed=arguments.seed)
    for path in arguments.files:
        table(path, [*arguments.systems, *SYSTEMS, "oracle"], options)
    print(f"\n{options.signature}; {Rouge.signature}")


if __name__ == "__main__":
    main()
