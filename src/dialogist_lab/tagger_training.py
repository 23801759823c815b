"""Trains the taggers of personal data: of people's names, and of numbers and codes.

  python -m dialogist_lab.tagger_training names corpus/*.jsonl --marked corpus/personal/names.jsonl
  python -m dialogist_lab.tagger_training values corpus/*.jsonl --marked corpus/personal/*.jsonl

Names of many cultures are planted in dialogues of our own: ``assets/planted_names.yaml`` holds
them, sentences that name people, and such that do not. In marked dialogues, of many languages,
writers marked who is named, and whose numbers are somebody's; what no rule finds in the other
dialogues counts as nobody's number. A minute or two on one core; the weights replace those of
`dialogist.privacy.taggers`.
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
from dialogist.privacy.finding import Stretches
from dialogist.privacy.masking import turns_that_ask
from dialogist.privacy.packs import privacy_of
from dialogist.privacy.persons import People, is_person
from dialogist.privacy.requested import is_ordinary
from dialogist.privacy.taggers import SIZE, TagCandidate, name_candidates, value_candidates

PLANTED = Path(__file__).parent / "assets" / "planted_names.yaml"
WEIGHTS = Path(dialogist.__file__).parent / "assets" / "privacy"
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
_NUMBER = re.compile("[0-9]{2,}")


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


def names_of(planted: dict[str, Any]) -> Names:
    """The names of all cultures."""
    pairs = planted["names"].values()
    given, last = ([pair[n].split() for pair in pairs] for n in (0, 1))
    words = {part for names in chain(given, last) for name in names for part in name.split("_")}
    others = {word.lower() for name in "PTX" for word in planted["pools"][name].split()}
    known = frozenset(word for word in words - others if not is_ordinary(word))
    return Names(given, last, known)


def planted_dialogue(
    dialogue: Dialogue, names: Names, rare: Sequence[str], dice: Random
) -> Iterator[tuple[str, Spans]]:
    """Its turns with other people and some rare words in them, and where the people stand."""

    def varied(text: str) -> str:
        return _COMMON.sub(lambda m: dice.choice(rare) if dice.random() < RARE else m[0], text)

    known_as = [speaker for speaker in dialogue.speakers if is_person(speaker)]
    for turn in dialogue.utterances:
        for mention in name_mentions(turn.text):
            before = turn.text[max(0, mention.start - 12) : mention.start]
            known = (word in names.known or is_first_name(word) for word in mention.words)
            if any(known) or _TITLE.search(before):
                known_as.append(turn.text[mention.start : mention.end])
    people = People(known_as)
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


def planted_sentence(
    form: str, pools: dict[str, list[str]], names: Names, dice: Random
) -> tuple[str, str, Spans]:
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
        self.are_marked: list[bool] = []

    def add(self, words: Iterable[TagCandidate], spans: Spans) -> None:
        """The words of a text, and where what is looked for stands in it."""
        marked = Stretches(spans)
        for word in words:
            self.features.append(np.array(word.features))
            self.are_marked.append(marked.touches(word.start, word.end))

    def add_names(self, turns: Iterable[tuple[str, Spans]], question: str = "") -> None:
        """The words of a talk: each text with where people stand in it; ``question``: before it."""
        for text, spans in turns:
            self.add(name_candidates(text, question), spans)
            question = text

    def without_doubtful(self, count: int, weights: Any) -> "Examples":
        """Those but what the weights take for a name, unmarked, among the first ``count``."""
        kept, pairs = Examples(), zip(self.features, self.are_marked, strict=True)
        for n, (places, is_name) in enumerate(pairs):
            if is_name or n >= count or weights[places].sum() < DOUBTFUL:
                kept.features.append(places)
                kept.are_marked.append(is_name)
        return kept

    def fitted(self, seed: int) -> Any:
        """Weights by logistic regression, each with a step of its own (AdaGrad)."""
        weights, squares = np.zeros(SIZE), np.full(SIZE, 1e-2)
        order = np.arange(len(self.features))
        for _ in range(ROUNDS):
            np.random.default_rng(seed).shuffle(order)
            for n in order:
                places, sign = self.features[n], 1 if self.are_marked[n] else -1
                margin = sign * weights[places].sum()
                if margin > 6:
                    continue
                slope = -sign / (1 + np.exp(margin))
                squares[places] += slope * slope
                weights[places] -= RATE * slope / np.sqrt(squares[places])
        return weights


def marked_spans(dialogue: Dialogue, number: int, kind: str = "") -> Spans:
    """Where an utterance has what its writer marked as personal, perhaps of one kind alone."""
    values: Any = dialogue.metadata["values"]
    text = dialogue.utterances[number].text
    words = [value for n, value, what, *_ in values if n == number and kind in ("", what)]
    return [(text.index(each), text.index(each) + len(each)) for each in words]


def name_examples(dialogues: Sequence[Dialogue], marked: Sequence[Dialogue]) -> Examples:
    """Words of dialogues and sentences with names planted, and of marked dialogues."""
    planted = yaml.safe_load(PLANTED.read_text("utf-8"))
    names, rare, dice = names_of(planted), planted["rare"].split(), Random(7)
    examples = Examples()
    for dialogue in dialogues:
        for _ in range(2):  # if it names somebody
            turns = list(planted_dialogue(dialogue, names, rare, dice))
            examples.add_names(turns)
            if not any(spans for _, spans in turns):
                break
    count = len(examples.features)
    pools = {name: words.split() for name, words in planted["pools"].items()}
    for _ in range(SENTENCES):
        for form in (*planted["people"], *planted["nobody"]):
            question, text, spans = planted_sentence(form, pools, names, dice)
            examples.add_names([(text, spans)], question)
    # The lists do not hold everybody whom dialogues name; such words must not count as none.
    examples = examples.without_doubtful(count, examples.fitted(1))
    for dialogue in [*marked] * MARKED:
        examples.add_names(
            (turn.text, marked_spans(dialogue, number, "name"))
            for number, turn in enumerate(dialogue.utterances)
        )
    return examples


def value_examples(dialogues: Sequence[Dialogue], marked: Sequence[Dialogue]) -> Examples:
    """Numbers and codes: those marked as somebody's, and others."""
    examples, rules, dice = Examples(), privacy_of().rules, Random(7)
    for dialogue in (*marked, *dialogues):
        asking = turns_that_ask(dialogue.utterances)
        for number, (asked, turn) in enumerate(zip(asking, dialogue.utterances, strict=True)):
            if "values" in dialogue.metadata:
                examples.add(value_candidates(turn.text, asked), marked_spans(dialogue, number))
                continue
            longer = _NUMBER.sub(
                lambda _: str(dice.randrange(10 ** dice.randrange(2, 7))), turn.text
            )
            for text in dict.fromkeys((turn.text, longer)):
                known = Stretches(span for rule in rules for span in rule.spans(text, asked))
                words = value_candidates(text, asked)
                examples.add((w for w in words if not known.touches(w.start, w.end)), [])
    return examples


def write_weights(weights: Any, path: Path) -> None:
    """Store weights as bytes."""
    stored = np.clip(np.round(weights * SCALE), -128, 127).astype(int) + 128
    path.write_bytes(compress(bytes(stored.tolist()), 9))


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tagger", choices=("names", "values"))
    parser.add_argument("files", nargs="+", type=Path, help="dialogues in which nothing is marked")
    parser.add_argument("--marked", nargs="+", type=Path, required=True)
    parser.add_argument("--output", type=Path, help="(default: the weights of the tool)")
    arguments = parser.parse_args()
    dialogues, marked = (
        [dialogue for path in paths for dialogue in read_dialogues(path)]
        for paths in (arguments.files, arguments.marked)
    )
    learn = {"names": name_examples, "values": value_examples}[arguments.tagger]
    examples = learn(dialogues, marked)
    output = arguments.output or WEIGHTS / f"{arguments.tagger}.weights"
    write_weights(examples.fitted(1), output)
    count = f"{len(examples.features)} words, {sum(examples.are_marked)}"
    print(f"{count} of {arguments.tagger}: {output}")


if __name__ == "__main__":
    main()
