"""Made summaries: what two speakers say of themselves and of each other, in reported speech.

For training alone. A network learns from them who "I" and "you" are, which summaries teach it but
seldom: each says so in the words of the dialogue, and would be wrong with any name exchanged.
"""

from collections import Counter

from dialogist.data.chance import Chance
from dialogist.records import Dialogue
from dialogist.text.reported_speech import Conversation
from dialogist.text.tokens import FUNCTION_WORDS

_MOST = 3  # sentences of a made summary
_FEWEST_WORDS, _MOST_WORDS = 4, 24  # of a sentence that is told
_SHAKE = 0.3  # noise on how important one is, so that not all dialogues are told alike


def reported(dialogue: Dialogue) -> str | None:
    """One to three statements in the order of the dialogue; None: there is nothing to tell.

    Those whose words come back elsewhere in the dialogue, or, where it has references, in the
    first of them. The same dialogue is always told alike.
    """
    if len(dialogue.speakers) != 2:
        return None
    chance = Chance("reported", dialogue.id, *(u.text for u in dialogue.utterances[:2]))
    wanted = _content(dialogue.references[0]) if dialogue.references else _repeated(dialogue)
    found: list[tuple[float, int, str]] = []
    for sentence, told in _told(dialogue):
        words = _content(sentence)
        if _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS and len(words) >= 2:
            score = len(words & wanted) + _SHAKE * chance.share()
            found.append((score, len(found), told))
    best = sorted(found, key=lambda one: -one[0])[: 1 + chance.below(_MOST)]
    return " ".join(told for _, _, told in sorted(best, key=lambda one: one[1])) or None


def _told(dialogue: Dialogue) -> list[tuple[str, str]]:
    """The sentences that rules turn into the third person, each with how it is told."""
    conversation = Conversation([(u.speaker, u.text) for u in dialogue.utterances])
    return [
        (utterance.text[one.start : one.end], one.text)
        for turn, utterance in enumerate(dialogue.utterances)
        for one in conversation.report(turn)
        if one.kind == "reported"
    ]


def _content(text: str) -> set[str]:
    words = ("".join(c for c in word.lower() if c.isalnum()) for word in text.split())
    return {word for word in words if word} - FUNCTION_WORDS


def _repeated(dialogue: Dialogue) -> set[str]:
    """Content words of two utterances or more."""
    counts = Counter(word for u in dialogue.utterances for word in _content(u.text))
    return {word for word, count in counts.items() if count > 1}
