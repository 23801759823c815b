"""`Preparation`: everything that happens to a dialogue before it becomes numbers.

One object, one configuration, used by training and writing alike, so the two can never disagree:
normalise -> entities and speakers to placeholders -> merge -> segment -> (`encoding`) limits.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.forms.key_points import RulePack
from dialogist.language.tokens import count_words
from dialogist.records import Dialogue, Utterance
from dialogist_lab.data.entity_masks import EntityTable
from dialogist_lab.data.profiles import Profile, join, normalise, segment
from dialogist_lab.data.vocabulary import SPEAKER_CHARACTERS

_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_SPEAKER = re.compile(f"[{SPEAKER_CHARACTERS[0]}-{SPEAKER_CHARACTERS[-1]}]")
_OURS = re.compile("[\x00-\x1f\x7f-\x9f\U0010f000-\U0010f4ff]")
_INNER_WORD = re.compile(r"(?<=[\w,;'\"(] )[\w'’-]+|(?<=[(\"])[\w'’-]+")
_ROLE_NUMBERS = {
    **dict.fromkeys(("user", "customer", "patient", "interviewee"), 0),
    **dict.fromkeys(("agent", "assistant", "system", "doctor", "interviewer"), 1),
}
"""Who asks is 0, who serves is 1."""


class PreparationConfig(Config):
    """Options of the preparation.

    ``profile``: how texts are cleaned (`dialogist_lab.data.profiles`). ``speakers``: ``atomic``
    (one token per speaker), ``role`` (one token per role; KDD'19 paper, section 3.1: user and
    agent; names are not told) or ``inline`` (the reports: ``name: text``). ``entities``: ``masked``
    (one token per phone number, time, amount ...; section 4.1 there) or ``none``: they stay text.
    ``merge_below``: join neighbouring utterances of one speaker while they hold fewer words than
    this in sum (15 in the KDD'19 paper); None never joins. ``references``: a dialogue with several
    human summaries gives one training pair ``each``, only the ``first``, or one pair with all
    ``joined`` (report 1, section III). ``key_points``: the rule pack (a name, or a file) that cuts
    references into sub-summaries. ``unknown``: words outside the vocabulary are all one ``token``,
    or told apart within a dialogue, so that a pointer can have them ``copied`` (word tokenizers).
    ``case``: of what a model writes, ``kept``, or ``restored`` from the dialogue for a model that
    knows small letters only.
    """

    profile: Profile = "plain"
    speakers: Literal["atomic", "role", "inline"] = "atomic"
    entities: Literal["none", "masked"] = "none"
    merge_below: int | None = Field(None, ge=2)
    references: Literal["each", "first", "joined"] = "each"
    key_points: str | None = None
    unknown: Literal["token", "copied"] = "token"
    case: Literal["kept", "restored"] = "kept"


@dataclass(frozen=True, slots=True)
class Example:
    """A prepared dialogue: placeholders for speakers and entities, and what stands behind them.

    ``sub_summaries`` hold for each target its (label, text) parts, if a rule pack cut them.
    ``origins[i]`` are the numbers of the dialogue's utterances that utterance ``i`` is made of.
    """

    utterances: tuple[Utterance, ...]
    targets: tuple[str, ...] = ()
    sub_summaries: tuple[tuple[tuple[str, str], ...], ...] = ()
    speakers: tuple[str, ...] = ()
    entities: Mapping[str, str] = field(default_factory=dict)
    origins: tuple[tuple[int, ...], ...] = ()


class Preparation:
    """Turns a `Dialogue` into an `Example`, and the model's text back into names and values."""

    def __init__(self, config: PreparationConfig, pack: RulePack | None = None) -> None:
        self.config, self.pack = config, pack

    def prepare(self, dialogue: Dialogue) -> Example:
        """Normalise, replace entities and speakers, merge. Nothing is cut here."""
        names, mention = self._speakers(dialogue)
        texts = [u.text for u in dialogue.utterances]
        entities: EntityTable | None = None
        if self.config.entities == "masked":
            # Found before a profile changes them: what is restored is what was said.
            plain = [normalise(text, "plain") for text in texts]
            speakers = (normalise(name, "plain") for name in dialogue.speakers)
            texts, entities = EntityTable.of(plain, speakers)
        spoken = [
            (number, Utterance(self._normalise(u.speaker), self._normalise(text), u.role))
            for number, (u, text) in enumerate(zip(dialogue.utterances, texts, strict=True))
        ]
        groups = self._grouped([(number, u) for number, u in spoken if u.text])
        merged = [
            Utterance(group[0][1].speaker, " ".join(u.text for _, u in group), group[0][1].role)
            for group in groups
        ]
        references = [text for text in dialogue.references if self._normalise(text)]
        if self.config.references == "first":
            references = references[:1]
        elif self.config.references == "joined" and references:
            references = [" ".join(references)]

        def target(text: str) -> str:
            if entities is not None:
                text = entities.mask(normalise(text, "plain"))
            text = self._normalise(text)
            return segment(text if mention is None else mention(text), self.config.profile)

        parts: list[tuple[tuple[str, str], ...]] = []
        if self.pack is not None:  # the rules read a reference as it was written
            for text in references:
                cut = self.pack.analyse(text, str(dialogue.metadata.get("section", "")))
                parts.append(tuple((part.label, target(part.text)) for part in cut))
        return Example(
            utterances=tuple(self._voiced(merged, names, mention)),
            targets=tuple(map(target, references)),
            sub_summaries=tuple(parts),
            speakers=names,
            entities={} if entities is None else entities.surfaces,
            origins=tuple(tuple(number for number, _ in group) for group in groups),
        )

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

    def _speakers(self, dialogue: Dialogue) -> tuple[tuple[str, ...], "_Mention | None"]:
        """The speakers that have a placeholder each, and what puts these into a text."""
        if self.config.speakers != "atomic":
            return (), None
        distinct = dict.fromkeys(self._normalise(name) for name in dialogue.speakers)
        names = tuple(name for name in distinct if name)[: len(SPEAKER_CHARACTERS)]
        return names, _Mention(names)

    def _grouped(
        self, utterances: Sequence[tuple[int, Utterance]]
    ) -> list[list[tuple[int, Utterance]]]:
        """Neighbours of one speaker together while their words in sum stay below the limit."""
        groups: list[list[tuple[int, Utterance]]] = []
        words, below = 0, self.config.merge_below or 0
        for number, utterance in utterances:
            own = count_words(utterance.text)
            last = groups[-1][-1][1] if groups else None
            same = last is not None and (last.speaker, last.role) == (
                utterance.speaker,
                utterance.role,
            )
            if same and words + own < below:
                groups[-1].append((number, utterance))
                words += own
            else:
                groups.append([(number, utterance)])
                words = own
        return groups

    def _voiced(
        self, utterances: Sequence[Utterance], names: Sequence[str], mention: "_Mention | None"
    ) -> Iterator[Utterance]:
        """The speaker (or role) as a placeholder, or (inline) as the first word of the text."""
        roles = _roles(utterances) if self.config.speakers == "role" else {}
        for utterance in utterances:
            speaker, text = utterance.speaker, utterance.text
            if mention is not None:
                if speaker in names:
                    speaker = SPEAKER_CHARACTERS[names.index(speaker)]
                text = mention(text)
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
    for said in spoken:
        for match in _INNER_WORD.finditer(said):
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

    def __init__(self, names: Sequence[str]) -> None:
        self._characters = dict(zip(names, SPEAKER_CHARACTERS, strict=False))
        telling = [name for name in names if len(name) > 1 or not re.match(_LETTER, name)]
        longest_first = sorted(telling, key=len, reverse=True)  # "Ann Lee" before "Ann"
        forms = (
            (f"(?<!{_LETTER})" if re.match(_LETTER, name) else "")
            + re.escape(name)
            + (f"(?!{_LETTER})" if re.match(_LETTER, name[-1]) else "")
            for name in longest_first
        )
        self._pattern = re.compile("|".join(forms)) if telling else None

    def __call__(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._characters[match.group()], text)


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
