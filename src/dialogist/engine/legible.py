"""Whether a dialogue can be summarised: it holds text, enough of it, in the right language."""

from dialogist.records import Dialogue, Status
from dialogist.text.languages import language_of
from dialogist.text.listing import counted
from dialogist.text.words import words_of

FEWEST_WORDS = 6
"""A dialogue with fewer words is called too short. It is summarised all the same."""

_LANGUAGES = {"en": "English", "zh": "Chinese"}

Refusal = tuple[Status, str]


def refusal(dialogue: Dialogue, language: str) -> Refusal | None:
    """Why nothing can be said of a dialogue; ``language`` is the model's, empty: any."""
    text = "\n".join(utterance.text for utterance in dialogue.utterances)
    if not text.strip():
        return "empty", "the dialogue holds no text"
    if language and len(words_of(text)) >= FEWEST_WORDS and language_of(text) != language:
        wanted = _LANGUAGES.get(language, language)
        return "unsupported_language", f"the dialogue is not in {wanted}, which this model reads"
    return None


def shortness(dialogue: Dialogue) -> str:
    """Why a dialogue is called too short; empty if it is not."""
    words = sum(len(words_of(utterance.text)) for utterance in dialogue.utterances)
    return f"only {counted(words, 'words')} said" if words < FEWEST_WORDS else ""
