"""`Preparation`: everything that happens to a dialogue before it becomes numbers.

One object, one configuration, used by training and writing alike, so the two can never disagree:
normalise -> entities and speakers to placeholders -> merge -> segment -> (`encoding`) limits.
"""

import gzip
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter

from dialogist.cli.console import Meter, tracked
from dialogist.config import Config
from dialogist.files import replacing
from dialogist.forms.key_points import RulePack, load_pack
from dialogist.language.entities import AFTER, BEFORE, EntitySpan, find_entities
from dialogist.language.tokens import count_words, replaced
from dialogist.records import Dialogue, Utterance
from dialogist_lab.data.profiles import Profile, join, normalise, segment
from dialogist_lab.data.vocabulary import (
    ENTITIES_PER_KIND,
    ENTITY_CHARACTERS,
    MASKED_KINDS,
    SPEAKER_CHARACTERS,
)

_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_SPEAKER = re.compile(f"[{SPEAKER_CHARACTERS[0]}-{SPEAKER_CHARACTERS[-1]}]")
_OURS = re.compile("[\x00-\x1f\x7f-\x9f\U0010f000-\U0010f4ff]")
_INNER_WORD = re.compile(r"(?<=[\w,;'\"(] )[\w'’-]+|(?<=[(\"])[\w'’-]+")
_MASK = re.compile(f"[{ENTITY_CHARACTERS[0]}-{ENTITY_CHARACTERS[-1]}]")
_CODES = frozenset(("PHONE", "CARD", "IBAN", "PLATE_NUM", "ORDER", "TRIP", "FLIGHT", "ID"))
_SHORTEST_KNOWN = 4  # letters and digits: "order 12" must not make an entity of every 12
_ROLE_NUMBERS = {
    **dict.fromkeys(("user", "customer", "patient", "interviewee"), 0),
    **dict.fromkeys(("agent", "assistant", "system", "doctor", "interviewer"), 1),
}
"""Who asks is 0, who serves is 1."""


class EntityTable:
    """The entities of one dialogue, numbered within their kind by first appearance.

    A small model cannot spell a number it has never seen, and it must not invent one. So each
    distinct value becomes one private-use character that says its kind and its number (Liu et al.,
    KDD 2019, section 4.1); what the model writes of it is put back word for word.
    ``surfaces`` maps each mask to the words of its first appearance; values beyond
    `ENTITIES_PER_KIND` stay text.
    """

    def __init__(self, texts: Sequence[str], keep: Iterable[str]) -> None:
        """Of the texts of a dialogue; ``keep`` stays text (speakers' names).

        A value that a word told once (``order number 12345``) is found without that word, too, and
        is of that kind everywhere.
        """
        self.surfaces: dict[str, str] = {}
        self._masks: dict[tuple[str, str], str] = {}
        self._cued: re.Pattern[str] | None = None
        names = frozenset(keep)
        texts = [_MASK.sub("\ufffd", text) for text in texts]
        entities = [
            (text[span.start : span.end], span) for text in texts for span in find_entities(text)
        ]
        kinds: dict[tuple[str, str], str] = {}
        for surface, span in sorted(entities, key=lambda entity: not entity[1].cued):
            kinds.setdefault(_compared(span, surface), span.kind)
        cued = dict.fromkeys(surface for surface, span in entities if span.cued)
        telling = [s for s in cued if sum(map(str.isalnum, s)) >= _SHORTEST_KNOWN]
        if telling:
            forms = "|".join(map(re.escape, sorted(telling, key=lambda s: (-len(s), s))))
            self._cued = re.compile(f"{BEFORE}(?P<v>{forms}){AFTER}")
        counts = dict.fromkeys(MASKED_KINDS, 0)
        for text in texts:
            for span in find_entities(text, self._cued):
                surface = text[span.start : span.end]
                key = _compared(span, surface)
                kind = kinds.get(key, span.kind)
                if key in self._masks or surface in names or counts[kind] == ENTITIES_PER_KIND:
                    continue
                mask = ENTITY_CHARACTERS[
                    ENTITIES_PER_KIND * MASKED_KINDS.index(kind) + counts[kind]
                ]
                counts[kind] += 1
                self._masks[key] = mask
                self.surfaces[mask] = surface

    def mask(self, text: str) -> str:
        """A text of the dialogue or about it, masked: values that only it has stay text."""
        text = _MASK.sub("\ufffd", text)
        spans = find_entities(text, self._cued)
        keys = ((s.start, s.end, _compared(s, text[s.start : s.end])) for s in spans)
        return replaced(text, ((a, b, self._masks[k]) for a, b, k in keys if k in self._masks)).text


def _compared(span: EntitySpan, surface: str) -> tuple[str, str]:
    """What two mentions of one value share: ``555-1234`` and ``555 1234`` are one."""
    if span.kind in _CODES:  # they share one namespace
        return "", "".join(c for c in surface.upper() if c.isalnum())
    folded = surface if span.kind == "URL" else surface.casefold().replace(" ", "")
    if span.kind == "TIME":
        folded = re.sub(r"([ap])\.?m\.?$", r"\1m", folded)
    return span.kind, folded.replace(",", "") if span.kind == "AMOUNT" else folded


class Limits(Config):
    """What a model reads and writes at most, in its own tokens; None is no limit.

    ``utterance_tokens``: of an utterance. ``utterances``: of a dialogue. ``source_tokens``: of the
    dialogue, begin and end symbols in. ``summary_tokens``: of the summary, begin and end symbols
    in. ``sub_summary_tokens``: of each sub-summary where references are cut by key points.
    ``keep_end``: a cut sequence still ends with the end symbol; the reports' padding function cuts
    it off instead (their models never see the end of a long summary).
    """

    utterance_tokens: int | None = Field(None, ge=1)
    utterances: int | None = Field(None, ge=1)
    source_tokens: int | None = Field(512, ge=3)
    summary_tokens: int | None = Field(128, ge=3)
    sub_summary_tokens: int | None = Field(None, ge=1)
    keep_end: bool = True


class PreparationConfig(Config):
    """Options of the preparation.

    ``profile``: how texts are cleaned (`dialogist_lab.data.profiles`). ``speakers``: ``atomic``
    (one token per speaker), ``role`` (one token per role; KDD'19 paper, section 3.1: user and
    agent; names are not told) or ``inline`` (the reports: ``name: text``). ``entities``: ``masked``
    (one token per phone number, time, amount ...; section 4.1 there) or ``none``: they stay text.
    ``merge_below``: join neighbouring utterances of one speaker while they hold fewer words than
    this in sum (15 in the KDD'19 paper); None never joins. ``references``: a dialogue with several
    human summaries gives one training pair ``each``, or one pair with all ``joined`` (report 1,
    section III). ``key_points``: the rule pack (a name, or a file) that cuts
    references into sub-summaries. ``unknown``: words outside the vocabulary are all one ``token``,
    or told apart within a dialogue, so that a pointer can have them ``copied`` (word tokenizers).
    ``case``: of what a model writes, ``kept``, or ``restored`` from the dialogue for a model that
    knows small letters only. ``limits``: lengths in tokens.
    """

    profile: Profile = "plain"
    speakers: Literal["atomic", "role", "inline"] = "atomic"
    entities: Literal["none", "masked"] = "none"
    merge_below: int | None = Field(None, ge=2)
    references: Literal["each", "joined"] = "each"
    key_points: str | None = None
    unknown: Literal["token", "copied"] = "token"
    case: Literal["kept", "restored"] = "kept"
    limits: Limits = Limits()

    @property
    def pack(self) -> RulePack | None:
        """The rule pack that cuts references; ConfigError where it is missing or at fault."""
        return None if self.key_points is None else load_pack(self.key_points)


@dataclass(frozen=True, slots=True)
class Example:
    """A prepared dialogue: placeholders for speakers and entities, and what stands behind them."""

    utterances: tuple[Utterance, ...]
    targets: tuple[str, ...] = ()
    # of each target its (label, text) parts, if a rule pack cut them
    sub_summaries: tuple[tuple[tuple[str, str], ...], ...] = ()
    speakers: tuple[str, ...] = ()
    entities: Mapping[str, str] = field(default_factory=dict)
    # the numbers of the dialogue's utterances that each utterance is made of
    origins: tuple[tuple[int, ...], ...] = ()


_EXAMPLES = TypeAdapter(list[Example])

LONG_SECONDS = 10.0
"""Examples that took no longer are not kept."""


@cache
def _code() -> str:
    """What examples follow from beside data and configuration: all code and tables."""
    packages = (Path(str(resources.files(name))) for name in ("dialogist", "dialogist_lab.data"))
    files = sorted(f for p in packages for f in p.rglob("*") if f.suffix in (".py", ".yaml"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


class Preparation:
    """Turns a `Dialogue` into an `Example`, and the model's text back into names and values."""

    def __init__(self, config: PreparationConfig) -> None:
        self.config, self.pack = config, config.pack

    def prepare(self, dialogue: Dialogue) -> Example:
        """Normalise, replace entities and speakers, merge. Nothing is cut here."""
        atomic = self.config.speakers == "atomic"
        mention = _Mention(map(self._normalise, dialogue.speakers if atomic else ()))
        texts = [u.text for u in dialogue.utterances]
        entities: EntityTable | None = None
        if self.config.entities == "masked":
            # Found before a profile changes them: what is restored is what was said.
            texts = [normalise(text, "plain") for text in texts]
            entities = EntityTable(texts, (normalise(n, "plain") for n in dialogue.speakers))
            texts = [entities.mask(text) for text in texts]
        merged = self._merged(
            Utterance(self._normalise(u.speaker), self._normalise(text), u.role)
            for u, text in zip(dialogue.utterances, texts, strict=True)
        )
        references = [text for text in dialogue.references if self._normalise(text)]
        if self.config.references == "joined" and references:
            references = [" ".join(references)]

        def target(text: str) -> str:
            if entities is not None:
                text = entities.mask(normalise(text, "plain"))
            text = self._normalise(text)
            return segment(mention(text), self.config.profile)

        parts: list[tuple[tuple[str, str], ...]] = []
        if self.pack is not None:  # the rules read a reference as it was written
            for text in references:
                cut = self.pack.analyse(text, str(dialogue.metadata.get("section", "")))
                parts.append(tuple((part.label, target(part.text)) for part in cut))
        return Example(
            utterances=tuple(self._voiced([utterance for utterance, _ in merged], mention)),
            targets=tuple(map(target, references)),
            sub_summaries=tuple(parts),
            speakers=tuple(mention.characters),
            entities={} if entities is None else entities.surfaces,
            origins=tuple(numbers for _, numbers in merged),
        )

    def prepare_all(self, dialogues: Sequence[Dialogue], kept: Path | None = None) -> list[Example]:
        """The examples of dialogues. Where that takes long they are left in the folder ``kept``:
        a run that goes on, or another one beside it with the same preparation, reads them there.
        """
        about = [self.config.model_dump_json(exclude={"limits"}), _code()]
        about += [self.pack.text if self.pack else "", *map(repr, dialogues)]
        key = hashlib.sha256("\0".join(about).encode("utf-8", "replace")).hexdigest()[:16]
        file = None if kept is None else kept / f"prepared-{key}.json.gz"
        if file is not None and file.exists():
            return _EXAMPLES.validate_json(gzip.decompress(file.read_bytes()))
        meter = Meter("prepared", len(dialogues), "dialogues", quiet=kept is None)
        examples = [self.prepare(dialogue) for dialogue in tracked(dialogues, meter)]
        if file is not None and meter.seconds > LONG_SECONDS:
            with replacing(file) as temporary:
                temporary.write_bytes(gzip.compress(_EXAMPLES.dump_json(examples), 1))
        return examples

    def restore(self, text: str, example: Example) -> str:
        """The model's text with the speakers' names and the entities' words back in place."""
        text = join(text, self.config.profile)
        for character, words in example.entities.items():
            text = text.replace(character, words)

        def name_of(match: re.Match[str]) -> str:
            index = SPEAKER_CHARACTERS.index(match.group())
            return example.speakers[index] if index < len(example.speakers) else ""

        if self.config.case == "restored":
            text = with_capitals(text, [utterance.text for utterance in example.utterances])
        return _OURS.sub(" ", _SPEAKER.sub(name_of, text))

    def _normalise(self, text: str) -> str:
        return normalise(text, self.config.profile)

    def _merged(self, utterances: Iterable[Utterance]) -> list[tuple[Utterance, tuple[int, ...]]]:
        """Those that have a text, each with its numbers: neighbours of one speaker are joined while
        their words in sum stay below the limit."""
        merged: list[tuple[Utterance, tuple[int, ...]]] = []
        words, speaking = 0, None
        for number, utterance in enumerate(utterances):
            if not utterance.text:
                continue
            before, speaking = speaking, (utterance.speaker, utterance.role)
            words += count_words(utterance.text)
            if speaking == before and words < (self.config.merge_below or 0):
                first, numbers = merged[-1]
                joined = replace(first, text=f"{first.text} {utterance.text}")
                merged[-1] = joined, (*numbers, number)
            else:
                merged.append((utterance, (number,)))
                words = count_words(utterance.text)
        return merged

    def _voiced(self, utterances: Sequence[Utterance], mention: "_Mention") -> Iterator[Utterance]:
        """The speaker (or role) as a placeholder, or (inline) as the first word of the text."""
        roles = _roles(utterances) if self.config.speakers == "role" else {}
        for utterance in utterances:
            speaker, text = utterance.speaker, mention(utterance.text)
            if self.config.speakers == "atomic":
                speaker = mention.characters.get(speaker, speaker)
            elif self.config.speakers == "role":
                speaker = roles.get(_role_key(utterance), "")
            else:
                speaker, text = "", self._normalise(f"{speaker}: {text}") if speaker else text
            profile = self.config.profile
            yield Utterance(segment(speaker, profile), segment(text, profile), utterance.role)


def with_capitals(text: str, spoken: Iterable[str]) -> str:
    """Words spelled as the dialogue mostly has them, and a capital for each sentence.

    The first word of a sentence, and the speaker before an utterance, tell nothing about a word.
    WordPieces put spaces around an apostrophe: they go.
    """
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for utterance in spoken:
        for match in _INNER_WORD.finditer(utterance):
            spellings[match.group().lower()][match.group()] += 1

    def spelled(match: re.Match[str]) -> str:
        word = match.group()
        known = spellings.get(word) or {"I" if word == "i" else word: 1}
        return max(known, key=known.__getitem__)

    joined = re.sub(r"(?<=\w) (['’]) (?=\w)", r"\1", text)
    cased = re.sub(r"[\w'’-]+", spelled, joined)
    return re.sub(r"(?:^|(?<=[.!?] ))[^\W\d_]", lambda first: first.group().upper(), cased)


class _Mention:
    """Replaces every whole-word mention of a speaker by the placeholder (case-sensitive).

    Names of one letter stay: an "A" or "I" in running text is hardly ever the speaker. A border is
    demanded only where the name ends in a letter; Chinese and Japanese have no spaces.
    """

    def __init__(self, names: Iterable[str]) -> None:
        distinct = dict.fromkeys(name for name in names if name)
        self.characters = dict(zip(distinct, SPEAKER_CHARACTERS, strict=False))
        telling = [n for n in self.characters if len(n) > 1 or not re.match(_LETTER, n)]
        forms = (
            (f"(?<!{_LETTER})" if re.match(_LETTER, name) else "")
            + re.escape(name)
            + (f"(?!{_LETTER})" if re.match(_LETTER, name[-1]) else "")
            for name in sorted(telling, key=len, reverse=True)  # "Ann Lee" before "Ann"
        )
        self._pattern = re.compile("|".join(forms)) if telling else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self.characters[match.group()], text)


def _roles(utterances: Iterable[Utterance]) -> dict[str, str]:
    """The placeholder of each role: who asks is 0, who serves is 1.

    A speaker whose role is not known takes the first number that is left, by first appearance; so
    two speakers without roles are 0 and 1 in the order in which they speak. (Liu et al., KDD 2019,
    section 3.1: "a special token which represents the role of speaker", user or agent.)
    """
    spoken = dict.fromkeys(_role_key(u) for u in utterances if u.speaker or u.role)
    numbers = {key: _ROLE_NUMBERS[key] for key in spoken if key in _ROLE_NUMBERS}
    left = iter(i for i in range(len(SPEAKER_CHARACTERS)) if i not in set(numbers.values()))
    for key in spoken:
        if key not in numbers:
            numbers[key] = next(left, len(SPEAKER_CHARACTERS) - 1)
    return {key: SPEAKER_CHARACTERS[number] for key, number in numbers.items()}


def _role_key(utterance: Utterance) -> str:
    known = utterance.role in _ROLE_NUMBERS
    return utterance.role if known or not utterance.speaker else utterance.speaker
