"""The word tokenizer of the DialogSum reports: Keras' ``Tokenizer`` with square brackets kept.

Keras numbers words by falling frequency (ties: first seen first), id 0 is padding, id 1 the
out-of-vocabulary token; every filter character becomes a space; nothing else is split.
Sources: report 1 section III, report 3 section 2.1; ``keras.preprocessing.text.Tokenizer``.
"""

import re
from collections import Counter
from collections.abc import Iterable

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from dialogist.tokenizers.base import PLACEHOLDERS, ControlSymbols, Tokenizer, placeholder
from dialogist.tokenizers.entity_tokens import entity_placeholders
from dialogist.tokenizers.plan_tokens import plan_characters

KERAS_FILTERS = '!"#$%&()*+,-./:;<=>?@\\^_`{|}~\t\n'
"""Keras' default filters without ``[`` and ``]``, which delimit [SOS] and [EOS]."""

CONTROLS = ControlSymbols(pad="[PAD]", unk="[UNK]", bos="[SOS]", eos="[EOS]")

_SPEAKERS = [placeholder(i) for i in range(PLACEHOLDERS)]
_TO_SPACES = str.maketrans(dict.fromkeys(KERAS_FILTERS, " "))


def split_words(text: str) -> list[str]:
    """Keras' ``text_to_word_sequence`` (case untouched: the profile has lower-cased already)."""
    return [word for word in text.translate(_TO_SPACES).split(" ") if word]


def train_word(
    texts: Iterable[str],
    max_size: int | None = None,
    entities: bool = False,
    speakers: bool = False,
    min_count: int = 1,
    labels: int = 0,
) -> Tokenizer:
    """Count words and number them as Keras does.

    Each text counts one [SOS] and one [EOS], which the reports put around every text before
    fitting. ``max_size`` bounds the vocabulary (rarest words out); None keeps every word.
    ``min_count`` leaves out rarer words, such as numbers that a single dialogue holds. With
    ``entities`` and ``speakers`` their placeholders are words of their own, after all others, and
    last those of a plan's ``labels``.
    """
    added = [*(_SPEAKERS if speakers else ()), *(entity_placeholders() if entities else ())]
    added += plan_characters(labels)
    if added:
        placeholders = re.compile(f"[{''.join(added)}]")
        texts = (placeholders.sub(" ", text) for text in texts)
        max_size = None if max_size is None else max_size - len(added)
    counts: Counter[str] = Counter()
    for text in texts:
        counts[CONTROLS.bos] += 1
        counts.update(split_words(text))
        counts[CONTROLS.eos] += 1
    often = (item for item in counts.items() if item[1] >= min_count)
    ranked = [word for word, _ in sorted(often, key=lambda item: -item[1])]
    if max_size is not None:
        words = [word for word in ranked if word not in (CONTROLS.bos, CONTROLS.eos)]
        rare = set(words[max_size - 4 :])
        ranked = [word for word in ranked if word not in rare]
    vocabulary = {CONTROLS.pad: 0, CONTROLS.unk: 1}
    for word in (*ranked, CONTROLS.bos, CONTROLS.eos):  # the two are in, even without texts
        vocabulary.setdefault(word, len(vocabulary))
    pipeline = _pipeline(vocabulary)
    pipeline.add_tokens([tokenizers.AddedToken(character) for character in added])
    return Tokenizer("word", pipeline, CONTROLS)


def _pipeline(vocabulary: dict[str, int]) -> tokenizers.Tokenizer:
    pipeline = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=CONTROLS.unk))
    pipeline.normalizer = normalizers.Sequence(
        [normalizers.Replace(character, " ") for character in KERAS_FILTERS]
    )
    pipeline.pre_tokenizer = pre_tokenizers.Split(" ", behavior="removed")
    return pipeline
