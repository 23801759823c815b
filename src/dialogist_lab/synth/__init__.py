"""A made-up customer-service corpus: what it is not is in docs/reference/synthetic-corpus.md.

Each pair of dialogue and summary is a pure function of (language, seed, part, number):

make_plan -> choose_wording -> Composer -> Dialogue.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from dialogist.errors import UsageError
from dialogist.records import JSON, Dialogue, Utterance
from dialogist_lab.synth.dialogues import (
    SPLITS,
    Composer,
    SynthConversation,
    Wording,
    WordingSplit,
    choose_wording,
)
from dialogist_lab.synth.grammar import (
    LANGUAGES,
    Grammar,
    RandomDraw,
    SynthLanguage,
    load_grammar,
    seed_of,
)
from dialogist_lab.synth.plan import MOST_PAIRS, DialoguePlan, Shared, Unique, make_plan

__all__ = ["SPLITS", "CorpusConfig", "generate_pair", "generate_pairs"]

VERSION = 1
"""Goes up whenever the same seed gives other pairs."""

_SPEAKERS = {"en": {"A": "agent", "U": "user"}, "zh": {"A": "客服", "U": "用户"}}
_NO_FACTS = frozenset({"type", "keyword"})


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """Which corpus, and which part of it; ``seed`` is 0 or more."""

    language: SynthLanguage = "en"
    seed: int = 1
    split: WordingSplit = "train"

    @classmethod
    def of(cls, language: str, seed: int, split: str) -> "CorpusConfig":
        """Make one of what a person typed.

        Raises:
            UsageError: the language or the part is unknown, or the seed is negative.
        """
        if language not in LANGUAGES:
            raise UsageError(f"language '{language}': there are {' and '.join(LANGUAGES)}")
        if split not in SPLITS:
            raise UsageError(f"split '{split}': there are {', '.join(SPLITS)}")
        if seed < 0:
            raise UsageError(f"seed {seed}: give 0 or more")
        return cls(language, seed, split)


def generate_pairs(config: CorpusConfig, pairs: int, start: int = 0) -> Iterator[Dialogue]:
    """Make pairs ``start`` to ``start + pairs - 1``, one after the other; nothing is kept.

    Raises:
        UsageError: a number is negative, or goes beyond what the unique values last for.
    """
    if pairs < 0 or start < 0:
        raise UsageError(f"{min(pairs, start)} pairs: give 0 or more")
    if start + pairs > MOST_PAIRS:
        raise UsageError(
            f"{start + pairs} pairs: at most {MOST_PAIRS}, then order ids and the like would "
            "return; take another seed for more"
        )
    return (generate_pair(config, index) for index in range(start, start + pairs))


def generate_pair(config: CorpusConfig, index: int) -> Dialogue:
    """Make one pair; no other pair has to be made for it.

    The metadata hold ``key_points``, ``topics`` (key point and sub-summary each), the values of
    the summary (``entities``), those that were corrected (``superseded``), stances given up
    (``contradicted``), the ``issue`` and the ``combination`` of templates.
    """
    grammar = load_grammar(config.language)
    unique = Unique(config.language, config.seed, 3 * index + SPLITS.index(config.split))
    draw, plan, shared, wording = _worded(config, index, grammar, unique)
    conversation = Composer(draw, grammar, plan, shared).compose(wording.parts)
    speakers, space = _SPEAKERS[grammar.language], "" if grammar.language == "zh" else " "
    return Dialogue(
        tuple(Utterance(speakers[s], text, _SPEAKERS["en"][s]) for s, text in conversation.turns),
        id=f"synth-{config.language}-{config.seed}-{config.split}-{index}",
        references=(space.join(space.join(part.sentences) for part in wording.parts),),
        metadata=_metadata(plan, wording, conversation, space),
    )


def _worded(
    config: CorpusConfig, index: int, grammar: Grammar, unique: Unique
) -> tuple[RandomDraw, DialoguePlan, Shared, Wording]:
    """Draw plans until one has wordings that belong to the part: nearly always the first."""
    for attempt in count():
        draw = RandomDraw(
            seed_of(VERSION, config.language, config.seed, config.split, index, attempt)
        )
        plan = make_plan(draw, grammar)
        given = {"type": plan.issue.type, "keyword": draw.pick(plan.issue.keywords)}
        shared = Shared(unique, draw, grammar, given)
        wording = choose_wording(draw, grammar, plan, config.split, shared)
        if wording is not None:
            return draw, plan, shared, wording
    raise AssertionError("there is always another attempt")


def _metadata(
    plan: DialoguePlan, wording: Wording, conversation: SynthConversation, space: str
) -> dict[str, JSON]:
    topics: list[JSON] = [[part.label, space.join(part.sentences)] for part in wording.parts]
    facts = {
        (slot, value): None
        for part in wording.parts
        for values in (part.local, *(local for _, local in part.details))
        for slot, value in values.items()
        if slot not in _NO_FACTS
    }
    return {
        "issue": plan.issue.name,
        "key_points": list(plan.labels),
        "topics": topics,
        "entities": [[slot, value] for slot, value in facts],
        "superseded": [[slot, value] for slot, value in conversation.superseded],
        "contradicted": list(conversation.contradicted),
        "combination": wording.combination,
    }
