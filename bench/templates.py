"""How far what templates take from a dialogue can be believed, where the truth was planted.

    python bench/templates.py --count 400 --seed 1
    python bench/templates.py --count 400 --seed 1 --cases 20
    python bench/templates.py --sgd dev.jsonl.gz

Prints Markdown and writes OUTPUT/templates.json: precision and recall of actions (with owner, and
with deadline), decisions and open questions in made-up conversations, where half of the turns that
look like one are none; of typed fields in the synthetic customer-service corpus; of all that rules
find in conversations that were written with their truth (tests/forms/gold); and with --sgd of
what was done or refused in annotated dialogues of Schema-Guided Dialogue, by the turns that are
marked as success and failure.
--cases N prints N of what was missed or wrongly found. docs/how-to/templates.md has the figures.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from spoken import KINDS, SPOKEN, measured

from dialogist.records import Dialogue, Utterance
from dialogist.forms.extract.extraction import Extracted, extract
from dialogist.forms.template_config import FieldType, SectionConfig
from dialogist.forms.typed_fields import Values
from dialogist_lab.synth import CorpusConfig, generate_pairs

NAMES = ("Anna", "Bo", "Cy", "Dana", "Emil", "Fay")
WORK = (
    "send the report to the board",
    "book a room for the workshop",
    "call the supplier about the delay",
    "update the price list",
    "write the minutes",
    "fix the login page",
    "order new chairs for the office",
    "check the contract with the lawyers",
    "prepare the slides for the review",
    "invite the client to the demo",
    "e-mail the new figures to Mr. Stone",
    "return the samples to the factory",
)
WHEN = ("by Friday", "tomorrow morning", "before noon", "by the end of the week", "on Monday",
        "within two days", "by 5 pm", "on 12 May", "")  # fmt: skip
PROMISES = (
    "I'll {work} {when}.",
    "Okay, I will {work} {when}.",
    "So I'm going to {work} {when}.",
    "I 'll {work} {when} .",
    "Fine, then I'll {work} {when}, and you relax.",
    "Leave it to me: I can {work} {when}.",
    "Don't worry, I promise to {work} {when}.",
    "{when_first}I'll {work}.",
)
REQUESTS = (
    "Could you {work} {when}?",
    "{name}, can you please {work} {when}?",
    "Please {work} {when}.",
    "Would you mind if I ask you to {work} {when}?",
    "I need you to {work} {when}.",
)
YES = ("Sure.", "OK, will do.", "Of course.", "Yes, no problem.", "Mm, alright then.")
NO = ("Sorry, I can't.", "No, I have no time.", "OK, but not this week.", "I don't think so.")
NOT_ACTIONS = (
    "Maybe I'll {work} {when}.",
    "If nobody minds, I'd {work} {when}.",
    "Yesterday I had to {work}.",
    "Who will {work} {when}?",
    "They said I'll {work}, but that is not so.",
    "I'll see you {when}.",
    "I'll be honest with you.",
    "I would {work} {when}, if I had the time.",
    "Anna should {work} {when}.",
)
CHOICES = ("use the blue cover", "hire a second designer", "move the launch to June",
           "drop the voice control", "meet every second Tuesday")  # fmt: skip
DECIDED = (
    "So we have decided to {choice}.",
    "Then we agreed to {choice}.",
    "Our decision is to {choice}.",
    "That settles it: we {choice}.",
)
PROPOSED = (
    "Let's {choice}.",
    "Shall we {choice}?",
    "Why don't we {choice}?",
    "I suggest we {choice}.",
)
NOT_DECIDED = (
    "We could {choice}.",
    "Have we decided to {choice}?",
    "If we decided to {choice}, it would be dear.",
    "We should think about it before we {choice}.",
)
ASKED = ("Who pays for the new licence?", "When does the contract with Stone end?",
         "How many chairs does the office need?", "Where is the key to the archive?",
         "Is the price of the samples still valid?")  # fmt: skip
UNKNOWN = ("I don't know.", "No idea.", "I'm not sure.", "Good question, I'd have to ask.",
           "We'll find out.", "Nobody told me.")  # fmt: skip
ANSWERS = ("Marketing, I think.", "Twelve of them.", "It is on the second shelf.", "Yes, it is.",
           "I don't know exactly, but it must be the second one.")  # fmt: skip
TALK = ("Good morning everyone.", "It was a long week.", "The weather is awful.", "Right.",
        "I was in Rome last month.", "The new machine is quite loud.", "Sales were up a little.",
        "Let's begin.", "Can you hear me?", "How are you?")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Truth:
    """What was planted: ``words`` must be in what is found."""

    kind: str
    words: str
    owner: str = ""
    deadline: str = ""


class Writer:
    """Makes one conversation, with what is true of it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.people = random.sample(NAMES, random.choice((2, 3, 4)))
        self.turns: list[Utterance] = []
        self.truths: list[Truth] = []

    def write(self) -> tuple[Dialogue, list[Truth]]:
        """A conversation of eight to sixteen exchanges."""
        scenes = (self.promise, self.request, self.no_action, self.refused, self.decided,
                  self.proposed, self.not_decided, self.asked, self.answered)  # fmt: skip
        for _ in range(self.random.randint(8, 16)):
            self.talk()
            self.random.choice(scenes)()
        self.say(self.people[0], "Thanks, that is all.")
        return Dialogue(tuple(self.turns)), self.truths

    def say(self, who: str, text: str) -> None:
        self.turns.append(Utterance(who, " ".join(text.replace(" .", " .").split())))

    def talk(self) -> None:
        self.say(self.random.choice(self.people), self.random.choice(TALK))

    def two(self) -> tuple[str, str]:
        first, second = self.random.sample(self.people, 2)
        return first, second

    def filled(self, form: str, name: str = "") -> tuple[str, str, str]:
        work, when = self.random.choice(WORK), self.random.choice(WHEN)
        first = f"{when[:1].upper()}{when[1:]} " if when else ""
        text = form.format(work=work, when=when, when_first=first, name=name)
        for mark in ".?,":
            text = text.replace(f" {mark}", mark)
        return text, work, when

    def promise(self) -> None:
        who = self.random.choice(self.people)
        text, work, when = self.filled(self.random.choice(PROMISES))
        self.say(who, text)
        self.truths.append(Truth("action", work, who, when))

    def request(self) -> None:
        first, second = self.two()
        text, work, when = self.filled(self.random.choice(REQUESTS), second)
        self.say(first, text)
        self.say(second, self.random.choice(YES))
        self.truths.append(Truth("action", work, second, when))

    def refused(self) -> None:
        first, second = self.two()
        self.say(first, self.filled(self.random.choice(REQUESTS), second)[0])
        self.say(second, self.random.choice(NO))

    def no_action(self) -> None:
        first, second = self.two()
        self.say(first, self.filled(self.random.choice(NOT_ACTIONS))[0])
        self.say(second, self.random.choice(("Hm.", "I see.", "Yes.")))

    def decided(self) -> None:
        choice = self.random.choice(CHOICES)
        who = self.random.choice(self.people)
        self.say(who, self.random.choice(DECIDED).format(choice=choice))
        self.truths.append(Truth("decision", choice))

    def proposed(self) -> None:
        first, second = self.two()
        choice = self.random.choice(CHOICES)
        self.say(first, self.random.choice(PROPOSED).format(choice=choice))
        agreed = self.random.random() < 0.5
        self.say(second, self.random.choice(YES if agreed else NO))
        if agreed:
            self.truths.append(Truth("decision", choice))

    def not_decided(self) -> None:
        first, second = self.two()
        form = self.random.choice(NOT_DECIDED)
        self.say(first, form.format(choice=self.random.choice(CHOICES)))
        self.say(second, self.random.choice(("Hm.", "I see.", "No.")))

    def asked(self) -> None:
        first, second = self.two()
        question = self.random.choice(ASKED)
        self.say(first, question)
        self.say(second, self.random.choice(UNKNOWN))
        self.truths.append(Truth("question", question, first))

    def answered(self) -> None:
        first, second = self.two()
        self.say(first, self.random.choice(ASKED))
        self.say(second, self.random.choice(ANSWERS))


def found_of(extracted: Extracted) -> list[Truth]:
    """What was found, in the form of what was planted."""
    kinds = (("action", extracted.actions), ("decision", extracted.decisions),
             ("question", extracted.questions))  # fmt: skip
    return [
        Truth(kind, one.text, "" if kind == "decision" else one.owner, one.deadline)
        for kind, all_of_them in kinds
        for one in all_of_them
    ]


class Counts:
    """Planted, found and right, with a few cases of what went wrong."""

    def __init__(self) -> None:
        self.numbers: Counter[str] = Counter()
        self.cases: list[str] = []

    def add(self, kind: str, truths: Sequence[str], found: Sequence[str], said: str = "") -> None:
        right = list((Counter(truths) & Counter(found)).elements())
        self.numbers.update({f"{kind} planted": len(truths), f"{kind} found": len(found),
                             f"{kind} right": len(right)})  # fmt: skip
        missed, wrong = Counter(truths) - Counter(found), Counter(found) - Counter(truths)
        self.cases += [f"{kind} missed: {one}{said}" for one in missed]
        self.cases += [f"{kind} wrong: {one}{said}" for one in wrong]

    def rows(self) -> Iterator[dict[str, object]]:
        """Kind, counts, precision and recall in percent."""
        for kind in sorted({key.rpartition(" ")[0] for key in self.numbers}):
            planted, found, right = (
                self.numbers[f"{kind} {what}"] for what in ("planted", "found", "right")
            )
            yield {
                "kind": kind, "planted": planted, "found": found, "right": right,
                "precision": 100 * right / max(1, found),
                "recall": 100 * self.numbers.get(f"{kind} recalled", right) / max(1, planted),
            }  # fmt: skip


def planted(count: int, seed: int) -> Counts:
    """Measure on made-up conversations: what is planted twice counts once."""
    counts = Counts()
    for number in range(count):
        dialogue, truths = Writer(Random(f"{seed}-{number}")).write()
        found = found_of(extract(dialogue))
        _add(
            counts, "action (what, who)", "action", truths, found, lambda t: f"{t.owner}: {t.words}"
        )
        _add(counts, "action (what, who, when)", "action", truths, found,
             lambda t: f"{t.owner}: {t.words} | {t.deadline}")  # fmt: skip
        _add(counts, "decision", "decision", truths, found, lambda t: t.words)
        _add(counts, "open question", "question", truths, found, lambda t: f"{t.owner}: {t.words}")
    return counts


def _add(
    counts: Counts, name: str, kind: str, truths: Sequence[Truth], found: Sequence[Truth],
    key: Callable[[Truth], str],
) -> None:  # fmt: skip
    wanted = {key(t) for t in truths if t.kind == kind}
    words = sorted({t.words for t in truths if t.kind == kind}, key=len, reverse=True)
    got = set()
    for one in found:
        if one.kind == kind:
            held = next((w for w in words if w in one.words), one.words)
            got.add(key(Truth(kind, held, one.owner, one.deadline)))
    counts.add(name, sorted(wanted), sorted(got))


SLOTS: dict[FieldType, str] = {
    "order": "order", "plate": "plate", "phone": "phone", "vehicle": "vehicle", "amount": "amount",
}  # fmt: skip


def fields(count: int, seed: int) -> Counts:
    """Measure typed fields on the synthetic corpus: the value that the summary has, if any."""
    counts = Counts()
    for language in ("en", "zh"):
        for dialogue in generate_pairs(CorpusConfig(language, seed, "test"), count):
            values = Values(dialogue)
            entities = dialogue.metadata["entities"]
            assert isinstance(entities, list)
            truth = {str(slot): str(value) for slot, value in entities}  # type: ignore[misc]
            said = "\n".join(u.text for u in dialogue.utterances)
            for kind, slot in SLOTS.items():
                if slot not in truth or truth[slot] not in said:
                    continue
                entries, _ = values.entries(SectionConfig(title="x", source="field", type=kind))
                counts.add(f"{kind} ({language})", [truth[slot]], [e.text for e in entries],
                           f"   [{dialogue.id}]")  # fmt: skip
    return counts


def written(path: Path) -> Counts:
    """Measure on conversations that were written with their truth."""
    found, told = measured(path)
    counts = Counts()
    counts.cases = told
    for kind in KINDS:
        counts.numbers.update({f"{kind} planted": found[f"{kind} wanted"],
                               f"{kind} found": found[f"{kind} found"],
                               f"{kind} right": found[f"{kind} right"],
                               f"{kind} recalled": found[f"{kind} recalled"]})  # fmt: skip
    return counts


def annotated(path: Path, count: int, seed: int) -> Counts:
    """Measure on SGD: by turns that are marked as a success or failure of what was asked for."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    counts = Counts()
    for row in Random(seed).sample(rows, min(count, len(rows))):
        turns = row["turns"]
        found = extract(Dialogue(tuple(Utterance(t["s"], t["t"]) for t in turns), row["id"]))
        acts = [{act[0] for _, acts in turn["a"] for act in acts} for turn in turns]
        marked = {mark: {n for n, act in enumerate(acts) if f"NOTIFY_{mark}" in act}
                  for mark in ("SUCCESS", "FAILURE")}  # fmt: skip
        done = {one.evidence[0].utterance for one in found.done}
        ended = {one.evidence[0].utterance for one in found.outcome}
        told = f"   [{row['id']}]"
        for name, truth, got in (
            ("done", marked["SUCCESS"], done),
            ("outcome", marked["SUCCESS"] | marked["FAILURE"], ended),
        ):
            counts.add(name, [turns[n]["t"] for n in truth], [turns[n]["t"] for n in got], told)
    return counts


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--sgd", type=Path, default=None)
    flags = parser.parse_args()
    result = {}
    measures: dict[str, Callable[[], Counts]] = {
        "planted": lambda: planted(flags.count, flags.seed),
        "fields": lambda: fields(flags.count, flags.seed),
        "spoken": lambda: written(SPOKEN),
        "unseen": lambda: written(SPOKEN.with_name("unseen.yaml")),
    }
    if flags.sgd is not None:
        measures["sgd"] = lambda: annotated(flags.sgd, flags.count, flags.seed)
    for name, measure in measures.items():
        counts = measure()
        result[name] = list(counts.rows())
        print(f"| {name} | there | found | right | precision | recall |")
        print("|---|---:|---:|---:|---:|---:|")
        for row in result[name]:
            print(f"| {row['kind']} | {row['planted']} | {row['found']} | {row['right']} | "
                  f"{row['precision']:.1f} | {row['recall']:.1f} |")  # fmt: skip
        for case in Random(0).sample(counts.cases, min(flags.cases, len(counts.cases))):
            print(f"    {case}")
    if flags.output is not None:
        flags.output.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"count": flags.count, "seed": flags.seed, **result}, indent=2)
        (flags.output / "templates.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
