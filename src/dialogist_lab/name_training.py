"""Trains the tagger of people's names: names of many cultures planted in dialogues of our own.

    python -m dialogist_lab.name_training corpus/*.jsonl --marked corpus/personal/names.jsonl

``assets/planted_names.yaml`` holds the names, sentences that name people, and such that do not. In
marked dialogues, of many languages, writers marked whoever is named.
Two minutes on one core; the weights replace those of `dialogist.privacy.name_tagger`.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import compress

import numpy as np
import yaml

import dialogist
from dialogist import Dialogue, read_dialogues
from dialogist.language.people import is_first_name, name_mentions
from dialogist.privacy.name_tagger import SIZE, TagCandidate, name_candidates
from dialogist.privacy.persons import People, is_person
from dialogist.privacy.requested import is_ordinary

PLANTED = Path(__file__).parent / "assets" / "planted_names.yaml"
WEIGHTS = Path(dialogist.__file__).parent / "assets" / "privacy" / "names.weights"
ROUNDS, RATE, SCALE = 4, 0.15, 16
DOUBTFUL = -2  # weights of a word that no list marks as a name, though it may be one
LOWER = 0.3  # of the dialogues and sentences are in small letters
CAPITALS = 0.04  # of the names of sentences are all in capitals
RARE = 0.04  # of the longer words of dialogues become rare ones
SENTENCES = 240  # times that each sentence is filled anew
MARKED = 5  # times that marked dialogues are learned from
Spans = list[tuple[int, int]]
_TITLE = re.compile(r"(?i)\b(?:mr|mrs|ms|miss|dr|prof|professor)\.? \Z")
_COMMON = re.compile(r"\b[a-z]{5,}\b")
_SLOT = re.compile(r"\{(\w)\}")


class Names(NamedTuple):
    """Given names and surnames of each culture, by which a person has both of one.

    ``known`` are the words of all that hardly mean anything else.
    """

    given: list[list[str]]
    last: list[list[str]]
    known: frozenset[str]

    def person(self, dice: Random, is_lower: bool = False) -> tuple[str, str]:
        """Somebody's given name and surname; in small letters the last culture's are words."""
        n = dice.randrange(len(self.given) - is_lower)
        return _capital(dice.choice(self.given[n])), _capital(dice.choice(self.last[n]))


def _capital(name: str) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_"))


def names_of(planted: dict[str, Any], without: frozenset[str] = frozenset()) -> Names:
    """The names of all cultures, but those ``without``, all in small letters."""
    pools: list[list[list[str]]] = [[], []]
    for pair in planted["names"].values():
        for pool, text in zip(pools, pair, strict=True):
            pool.append([word for word in text.split() if not without & {*word.split("_")}])
    words = {part for names in chain(*pools) for name in names for part in name.split("_")}
    others = {word.lower() for name in "PTX" for word in planted["pools"][name].split()}
    known = frozenset(word for word in words - others if not is_ordinary(word))
    return Names(pools[0], pools[1], known)


def planted_dialogue(
    dialogue: Dialogue, names: Names, rare: Sequence[str], dice: Random
) -> Iterator[tuple[str, Spans]]:
    """Its turns with other people and some rare words in them, and where the people stand."""

    def varied(text: str) -> str:
        return _COMMON.sub(lambda m: dice.choice(rare) if dice.random() < RARE else m[0], text)

    told = [s for s in dialogue.speakers if is_person(s)]
    for turn in dialogue.utterances:
        for mention in name_mentions(turn.text):
            before = turn.text[max(0, mention.start - 12) : mention.start]
            known = (word in names.known or is_first_name(word) for word in mention.words)
            if any(known) or _TITLE.search(before):
                told.append(turn.text[mention.start : mention.end])
    people = People(told)
    chosen: dict[str, tuple[str, str]] = {}
    is_lower = dice.random() < LOWER
    for turn in dialogue.utterances:
        done, position, spans = "", 0, Spans()
        for start, end in people.mentions(turn.text):
            done += varied(turn.text[position:start])
            words = turn.text[start:end]
            given, last = chosen.setdefault(people.who(words), names.person(dice, is_lower))
            new = last if _TITLE.search(done) else given
            new = f"{given} {last}" if " " in words else new
            new = new.lower() if words.islower() or dice.random() < 0.05 else new
            spans.append((len(done), len(done) + len(new)))
            done, position = done + new, end
        done += varied(turn.text[position:])
        yield done.lower() if is_lower and len(done.lower()) == len(done) else done, spans


def planted_sentence(form: str, pools: dict[str, list[str]], names: Names, dice: Random) -> Any:
    """A question (or nothing), a sentence, and where people stand in it."""
    question, _, form = form.rpartition(" | ")
    is_lower = dice.random() < LOWER / 2
    person = names.person(dice, is_lower or "{g}" in form or "{s}" in form)
    done, position, spans = "", 0, Spans()
    for slot in _SLOT.finditer(form):
        done += form[position : slot.start()]
        kind = slot[1]
        if kind in pools:
            done += dice.choice(pools[kind]).replace("_", " ")
        else:
            word = person["gs".index(kind.lower())]
            word = word if kind.isupper() else word.lower()
            word = word.upper() if kind.isupper() and dice.random() < CAPITALS else word
            spans.append((len(done), len(done) + len(word)))
            done += word
            person = names.person(dice, is_lower or kind.islower()) if kind in "sS" else person
        position = slot.end()
    done += form[position:]
    is_lower = is_lower and len(done.lower()) == len(done)
    return question, done.lower() if is_lower else done, spans


class Examples:
    """Features of words, and whether each is a part of what is looked for, such as a name."""

    def __init__(self) -> None:
        self.features: list[Any] = []
        self.are_names: list[bool] = []

    def add(self, words: Iterable[TagCandidate], spans: Spans) -> None:
        """The words of a text, and where what is looked for stands in it."""
        for word in words:
            self.features.append(np.array(word.features))
            self.are_names.append(word.touches(spans))

    def add_marked(self, dialogue: Dialogue) -> None:
        """The words of a dialogue in which whoever is named is marked."""
        values: Any = dialogue.metadata["values"]
        question = ""
        for number, turn in enumerate(dialogue.utterances):
            names = [text for place, text, kind, *_ in values if place == number and kind == "name"]
            places = [(turn.text.index(name), len(name)) for name in names]
            spans = [(start, start + length) for start, length in places]
            self.add(name_candidates(turn.text, question), spans)
            question = turn.text

    def without_doubtful(self, count: int, weights: Any) -> "Examples":
        """Those but what the weights take for a name, unmarked, among the first ``count``."""
        kept, pairs = Examples(), zip(self.features, self.are_names, strict=True)
        for n, (places, is_name) in enumerate(pairs):
            if is_name or n >= count or weights[places].sum() < DOUBTFUL:
                kept.features.append(places)
                kept.are_names.append(is_name)
        return kept

    def fitted(self, seed: int) -> Any:
        """Weights by logistic regression, each with a step of its own (AdaGrad)."""
        weights, squares = np.zeros(SIZE), np.full(SIZE, 1e-2)
        order = np.arange(len(self.features))
        for _ in range(ROUNDS):
            np.random.default_rng(seed).shuffle(order)
            for n in order:
                places, sign = self.features[n], 1 if self.are_names[n] else -1
                margin = sign * weights[places].sum()
                if margin > 6:
                    continue
                slope = -sign / (1 + np.exp(margin))
                squares[places] += slope * slope
                weights[places] -= RATE * slope / np.sqrt(squares[places])
        return weights


def planted_examples(
    dialogues: Sequence[Dialogue], planted: dict[str, Any], names: Names, dice: Random
) -> tuple[Examples, int]:
    """Dialogues, so many words of them, and sentences with people; those that name some, twice."""
    examples, rare = Examples(), planted["rare"].split()
    for dialogue in dialogues:
        for _ in range(2):
            question = ""
            turns = list(planted_dialogue(dialogue, names, rare, dice))
            for text, spans in turns:
                examples.add(name_candidates(text, question), spans)
                question = text
            if not any(spans for _, spans in turns):
                break
    count = len(examples.features)
    pools = {name: words.split() for name, words in planted["pools"].items()}
    for _ in range(SENTENCES):
        for form in (*planted["people"], *planted["nobody"]):
            question, text, spans = planted_sentence(form, pools, names, dice)
            examples.add(name_candidates(text, question), spans)
    return examples, count


def write_weights(weights: Any, path: Path) -> None:
    """Store weights as bytes."""
    stored = np.clip(np.round(weights * SCALE), -128, 127).astype(int) + 128
    path.write_bytes(compress(bytes(stored.tolist()), 9))


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="+", type=Path, help="dialogues to plant names in")
    parser.add_argument(
        "--marked", nargs="*", type=Path, default=[], help="those with marked names"
    )
    parser.add_argument("--without", type=Path, help="a file whose words are planted nowhere")
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    given = parser.parse_args()
    planted = yaml.safe_load(PLANTED.read_text("utf-8"))
    text = given.without.read_text("utf-8").lower() if given.without else ""
    names = names_of(planted, frozenset(re.findall(r"[^\W\d_]+", text)))
    dialogues = [d for path in given.corpus for d in read_dialogues(path)]
    examples, count = planted_examples(dialogues, planted, names, Random(7))
    # The lists do not hold everybody whom dialogues name; such words must not count as none.
    examples = examples.without_doubtful(count, examples.fitted(1))
    marked = [dialogue for path in given.marked for dialogue in read_dialogues(path)]
    for dialogue in marked * MARKED:
        examples.add_marked(dialogue)
    write_weights(examples.fitted(1), given.output)
    print(f"{len(examples.features)} words, {sum(examples.are_names)} of names: {given.output}")


if __name__ == "__main__":
    main()
