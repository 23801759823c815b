"""`Index`: a dialogue's utterances by what they say, made once for all statements about it."""

import math
import re
from collections import defaultdict
from functools import lru_cache

import numpy as np

from dialogist.engine.evidence.terms import Span, Term, terms_of
from dialogist.engine.evidence.voices import Voices
from dialogist.records import Dialogue
from dialogist.text.languages import language_of
from dialogist.text.negation import NEGATION, RELUCTANCE
from dialogist.text.tokens import tokens_of

_CHINESE_DENIAL = re.compile("不|没|无法|未能|别的?|非")
_QUESTION = re.compile(r"[?？]|吗|什么|怎么|多少|哪|几[时点个]|是否|能不能|可不可以|是不是|有没有")
_KEPT = 8  # dialogues


class Index:
    """What each of U utterances says.

    Attributes:
        speakers: (U,) numbers, -1 where nobody is named. questions, denials: (U,) whether it asks,
            denies. sizes: (U,) terms. lengths: (U,) characters. ``whole``: whether there is text.
    """

    def __init__(self, dialogue: Dialogue) -> None:
        texts = [utterance.text for utterance in dialogue.utterances]
        self.dialogue = dialogue
        self.language = language_of("\n".join(texts))
        self.voices = Voices(dialogue, self.language)
        self.terms = [self.terms_of(text) for text in texts]
        self.places: dict[str, dict[int, list[Span]]] = defaultdict(lambda: defaultdict(list))
        for number, terms in enumerate(self.terms):
            for term in terms:
                for key in term.keys:
                    self.places[key][number].append((term.start, term.end))
        self.speakers = np.array(self.voices.spoken, dtype=np.int64)
        self.questions = np.array([bool(_QUESTION.search(text)) for text in texts], dtype=bool)
        self.denials = np.array([denies(text) for text in texts], dtype=bool)
        self.sizes = np.array([len(terms) for terms in self.terms], dtype=np.float64)
        self.lengths = np.array([len(text.strip()) for text in texts], dtype=np.float64)

    def __len__(self) -> int:
        return len(self.terms)

    def terms_of(self, text: str) -> list[Term]:
        """The terms of a text but those in a speaker's name: everybody is named everywhere."""
        tokens = list(tokens_of(text))
        mentions = self.voices.mentions(text, tokens)
        terms = terms_of(text, tokens, self.language)
        return [t for t in terms if not any(a < t.end and t.start < b for a, b, _ in mentions)]

    def found(self, term: Term) -> dict[int, list[Span]]:
        """Where each utterance says a term."""
        found: dict[int, set[Span]] = defaultdict(set)
        for key in term.keys:
            for number, spans in self.places.get(key, {}).items():
                found[number].update(spans)
        return {number: sorted(spans) for number, spans in found.items()}

    def rarity(self, count: int) -> float:
        """How much it tells that an utterance says what ``count`` of all say."""
        return math.log((len(self) + 1) / (count + 0.5))


def denies(text: str, plainly: bool = False) -> bool:
    """Whether something is denied; unless ``plainly``, what comes near it counts, too."""
    if NEGATION.search(text) or _CHINESE_DENIAL.search(text):
        return True
    return not plainly and RELUCTANCE.search(text) is not None


@lru_cache(maxsize=_KEPT)
def index_of(dialogue: Dialogue) -> Index:
    """The dialogue's index; the last few are kept."""
    return Index(dialogue)
