"""What tokens stand for: pieces as the text they add, masks as names and entities."""

from collections.abc import Callable, Sequence
from itertools import groupby

from dialogist.data.entities import MASK
from dialogist.data.normalise import normalise
from dialogist.data.speakers import RoleTable
from dialogist.engine.bundle import Bundle
from dialogist.engine.pieces import BROKEN, pieces
from dialogist.engine.written import Written
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import Tokenizer
from dialogist.tokenizers.special_tokens import readable_entity
from dialogist_lab.explain.explanation import BEGIN, END, SourceToken, TokenKind


class Speller:
    """Spells the tokens of one dialogue and of what was said about it."""

    def __init__(self, bundle: Bundle, dialogue: Dialogue, written: Written) -> None:
        self._bundle, self._written = bundle, written
        self._tokenizer = bundle.tokenizer
        self._roles = _roles(bundle, dialogue)
        self._speakers = frozenset(self._tokenizer.placeholder_ids())
        self._entities = frozenset(self._tokenizer.entity_ids().values())
        self._plan = _plan_names(bundle)

    def source(self) -> tuple[SourceToken, ...]:
        """All that the model read, begin and end in."""
        encoded, tokenizer = self._written.encoded, self._tokenizer
        ended = encoded.source[-1] == tokenizer.eos_id  # a cut may have taken the end symbol
        ends = (*encoded.starts[1:], len(encoded.source) - int(ended))
        unknown: dict[str, int] = {}  # words that the vocabulary lacks, by ids of their own
        tokens = [SourceToken(BEGIN, "begin")]
        spans = zip(self._written.example.utterances, encoded.starts, ends, strict=False)
        for number, (utterance, start, end) in enumerate(spans):
            text = f"{utterance.speaker} {utterance.text}"
            ids = tokenizer.encode_extended(text, unknown, grow=True)[: end - start]
            texts = pieces(ids, self._reader(tuple(unknown)))
            tokens += [
                SourceToken(t, self.kind(i), number) for t, i in zip(texts, ids, strict=True)
            ]
        return (*tokens, SourceToken(END, "end")) if ended else tuple(tokens)

    def speakers(self, utterances: int) -> tuple[str, ...]:
        """Who says each of the first ``utterances``."""
        read = self._reader(())
        spoken = self._written.example.utterances[:utterances]
        return tuple(read(self._tokenizer.encode(u.speaker)).strip() for u in spoken)

    def said(self, ids: Sequence[int]) -> list[str]:
        """What each token of a (sub-)summary adds to it; those of a plan prefix by their names."""
        read = self._reader(self._written.encoded.unknown)
        found: list[str] = []
        for planned, group in groupby(ids, self._plan.__contains__):
            run = list(group)
            found += [self._plan[index] for index in run] if planned else pieces(run, read)
        return found

    def kind(self, index: int) -> TokenKind:
        """What kind of token an id is."""
        if index in self._speakers:
            return "speaker"
        if index in self._entities:
            return "entity"
        if index in self._plan:
            return "plan"
        beyond = index >= len(self._tokenizer) or index == self._tokenizer.unk_id
        return "unknown" if beyond else "text"

    def candidate(self, index: int) -> str:
        """A token by itself, never empty (but it may be a space)."""
        tokenizer = self._tokenizer
        controls = {tokenizer.bos_id: BEGIN, tokenizer.eos_id: END, tokenizer.pad_id: "‹padding›"}
        if index in controls:
            return controls[index]
        if index in self._plan:
            return self._plan[index]
        unknown = self._written.encoded.unknown
        if index >= len(tokenizer) + len(unknown):
            return "‹no word of this dialogue›"
        text = self._reader(unknown)([index])
        if text and BROKEN not in text:
            return text
        return _described(tokenizer, index)

    def _reader(self, unknown: Sequence[str]) -> Callable[[Sequence[int]], str]:
        """From ids to text with names and entities back in place."""
        preparation, example = self._bundle.preparation, self._written.example

        def read(ids: Sequence[int]) -> str:
            text = self._tokenizer.decode(ids, unknown)
            return preparation.restore(text.translate(self._roles), example)

        return read


def _plan_names(bundle: Bundle) -> dict[int, str]:
    """How people are shown the tokens of a plan prefix."""
    pack, ids = bundle.preparation.pack, bundle.tokenizer.plan_ids()
    if pack is None or not ids:
        return {}
    return {i: f"‹{name}›" for i, name in zip(ids, ("border", *pack.labels), strict=True)}


def _roles(bundle: Bundle, dialogue: Dialogue) -> dict[int, str]:
    """Names for the placeholders of roles: the role, or of those who have none the speaker."""
    config = bundle.preparation.config
    if config.speakers != "role":
        return {}

    def normal(text: str) -> str:
        return normalise(text, config.profile)

    spoken = [
        Utterance(normal(u.speaker), u.text, u.role) for u in dialogue.utterances if normal(u.text)
    ]
    table = RoleTable(spoken)
    named = {table.token(u): u.role or u.speaker for u in reversed(spoken)}
    return {ord(placeholder): name for placeholder, name in named.items() if placeholder}


def _described(tokenizer: Tokenizer, index: int) -> str:
    """A token that stands for nothing in this dialogue, or is no character by itself."""
    if index in tokenizer.placeholder_ids():
        return f"‹speaker {tokenizer.placeholder_ids().index(index) + 1}: not here›"
    raw = tokenizer.decode([index])
    if MASK.search(raw):
        return f"‹{readable_entity(raw.strip())[1:-1]}: not here›"
    if BROKEN in raw:
        return "‹part of a character›"
    return tokenizer.token(index)
