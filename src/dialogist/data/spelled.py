"""Encoded pairs as prepared text and back, for changes that work on words.

In prepared text a speaker is one private character; byte-level subwords give every text back
exactly. So what is stored are ids alone, in memory and in shards.
"""

from collections.abc import Sequence

from dialogist.data.collate import Pair
from dialogist.data.windows import utterances_of
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import Tokenizer


def dialogue_of(pair: Pair, tokenizer: Tokenizer, speakers: frozenset[int]) -> Dialogue:
    """The dialogue that a pair's source spells, as far as the model reads it."""
    spoken = [_utterance(ids, tokenizer, speakers) for ids in utterances_of(pair)]
    return Dialogue(tuple(spoken), pair.id)


def _utterance(ids: Sequence[int], tokenizer: Tokenizer, speakers: frozenset[int]) -> Utterance:
    named = bool(ids) and ids[0] in speakers
    speaker = tokenizer.decode(ids[:1]) if named else ""
    return Utterance(speaker, tokenizer.decode(ids[1:] if named else ids).strip())


def summary_of(pair: Pair, tokenizer: Tokenizer) -> str:
    """The summary that a pair's target spells."""
    return tokenizer.decode(pair.target)


def respelled(text: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of a summary, begin and end symbols in."""
    return (tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id)
