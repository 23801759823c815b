"""`Preparation`: everything that happens to a dialogue before it becomes numbers.

One object, one configuration, saved inside the model folder and used by training and serving
alike, so the two can never disagree: normalise -> entities and speakers to placeholders -> merge
-> (Chinese profiles) segment -> (encode.py) fit to the limits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from pydantic import Field, model_validator

from dialogist.config import Config
from dialogist.data.encode import Encoded, Limits, encode
from dialogist.data.entities import MASK, EntityTable, mask_entities
from dialogist.data.key_points import RulePack, load_pack, section_of
from dialogist.data.normalise import (
    CHINESE_PROFILES,
    Profile,
    has_reserved,
    join,
    normalise,
    normalise_between,
    segment,
    without_controls,
    without_placeholders,
)
from dialogist.data.speakers import (
    RoleTable,
    SpeakerTable,
    group_short,
    merge,
    other_names,
    restore_speakers,
    without_signatures,
)
from dialogist.records import Dialogue, Example, SubSummary, Utterance
from dialogist.language.casing import recased
from dialogist.language.chat_spelling import without_abbreviations
from dialogist.language.tokens import counted
from dialogist.tokenizers import Tokenizer, placeholder


class PreparationConfig(Config):
    """Options of the preparation.

    ``speakers``: ``atomic`` (one token per speaker), ``role`` (one token per role; KDD'19 paper,
    section 3.1: user and agent; names are not told) or ``inline`` (the reports: ``name: text``).
    ``entities``: ``masked`` (one token per phone number, time, amount ...; see `data.entities`) or
    ``none``: they stay text.
    ``case``: ``kept``, or ``restored``: the model writes small letters, and gets its capitals and
    accents from the dialogue's own words and the beginnings of sentences (see `text.casing`), and a
    full stop at the end where it forgot it.
    ``merge_below``: join neighbouring utterances of one speaker while they hold fewer words than
    this in sum (15 in the KDD'19 paper); None never joins.
    ``references``: a dialogue with several human summaries gives one training pair ``each``, only
    the ``first``, or one pair with all ``joined`` (report 1, section III).
    ``key_points``: the rule pack (a name, or a file) that cuts references into sub-summaries.
    ``plan``: ``prefix`` has a flat model write the labels of a summary's key points first, and then
    the summary in their sub-summaries.
    ``unknown``: words outside the vocabulary are all one ``token``, or told apart within a
    dialogue, so that a pointer can have them ``copied`` (word tokenizers; others have none).
    ``spelling``: ``kept``, or ``written_out``: chats are read as people would write them out ("r u
    coming tmrw": are you coming tomorrow?; see `text.chat_spelling`).
    ``own_names``: ``kept``, or ``speaker``: a name that a speaker labelled by a role calls himself
    ("this is Priya") stands for that speaker, and signatures are left out (see `data.speakers`).
    ``user_profile``: ``none``, or ``first``: the fields of the user profile are the first
    utterances, which nobody speaks (see `records.Dialogue.with_profile_turns`).
    ``language``: the one the model is for; a dialogue in another is not summarised. Empty: any.

    ``profile``: how texts are cleaned: as they are (``plain``), as in the Keras reports or the XSum
    report, as words, or as Chinese characters or words. ``limits``: lengths.
    """

    profile: Profile = "plain"
    speakers: Literal["atomic", "role", "inline"] = "atomic"
    entities: Literal["none", "masked"] = "none"
    case: Literal["kept", "restored"] = "kept"
    merge_below: int | None = Field(None, ge=2)
    references: Literal["each", "first", "joined"] = "each"
    key_points: str | None = None
    plan: Literal["none", "prefix"] = "none"
    unknown: Literal["token", "copied"] = "token"
    limits: Limits = Limits()
    spelling: Literal["kept", "written_out"] = "kept"
    own_names: Literal["kept", "speaker"] = "kept"
    user_profile: Literal["none", "first"] = "none"
    language: Literal["en", "zh", ""] = ""

    @model_validator(mode="after")
    def _consistent(self) -> "PreparationConfig":
        if self.plan == "prefix" and self.key_points is None:
            raise ValueError("'plan' prefix needs 'key_points': a rule pack")
        if self.own_names == "speaker" and self.speakers != "atomic":
            raise ValueError("'own_names' speaker needs 'speakers' atomic")
        return self

    @property
    def has_bounded_sources(self) -> bool:
        """Whether ids stay below the vocabulary's size, and places in a source below 2**16."""
        longest = self.limits.source_tokens
        return self.unknown == "token" and longest is not None and longest <= 1 << 16


class Preparation:
    """Turns a `Dialogue` into an `Example`, and the model's text back into names and values.

    ``pack`` is the rule pack that the configuration names; without it, it is looked for by name.

    Raises:
        ConfigError: there is no such rule pack, or it is at fault.
    """

    def __init__(self, config: PreparationConfig, pack: RulePack | None = None) -> None:
        self.config = config
        self.pack = pack
        if pack is None and config.key_points is not None:
            self.pack = load_pack(config.key_points)

    @property
    def masks_entities(self) -> bool:
        """Whether the tokenizer needs the placeholders of entities."""
        return self.config.entities == "masked"

    @property
    def has_speaker_tokens(self) -> bool:
        """Whether the tokenizer needs the placeholders of speakers (or roles)."""
        return self.config.speakers != "inline"

    @property
    def planned_labels(self) -> tuple[str, ...]:
        """The labels that the tokenizer needs tokens for; none without a plan prefix."""
        return self.pack.labels if self.pack is not None and self.config.plan == "prefix" else ()

    def encode(self, example: Example, tokenizer: Tokenizer) -> Encoded:
        """A prepared dialogue as ids, within the limits."""
        labels = () if self.pack is None else self.pack.labels
        copied = self.config.unknown == "copied"
        plan = tokenizer.plan if self.planned_labels else None
        return encode(example, tokenizer, self.config.limits, labels, copied, plan)

    @property
    def reads_profiles(self) -> bool:
        """Whether the model is given the user profile."""
        return self.config.user_profile == "first"

    def with_profile(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue with all that the model reads of it as utterances."""
        return dialogue.with_profile_turns() if self.reads_profiles else dialogue

    def prepare(self, dialogue: Dialogue) -> Example:
        """Normalise, replace entities and speakers, merge. Nothing is cut here."""
        fields = len(dialogue.profile) if self.reads_profiles else 0
        table = self._speakers(dialogue)
        dialogue = self._reworded(self.with_profile(dialogue))
        spoken, entities = self._spoken(dialogue)
        first, rest = [u for u in spoken[:fields] if u.text], [u for u in spoken[fields:] if u.text]
        kept = [*first, *rest]
        below = self.config.merge_below
        groups = [[u] for u in rest] if below is None else group_short(rest, below)
        groups = [*([u] for u in first), *groups]
        joined = [merge(group) for group in groups]
        roles = RoleTable(joined) if self.config.speakers == "role" else None
        return Example(
            utterances=tuple(self._voiced(joined, table, roles)),
            id=dialogue.id,
            targets=tuple(self._target(t, table, entities) for t in self._references(dialogue)),
            sub_summaries=self._sub_summaries(dialogue, table, entities),
            speakers=() if table is None else table.names,
            entities=entities.surfaces,
            origins=_origins(spoken, groups),
            profile=len(first),
            merged=len(kept) - len(joined),
            notes=tuple(_notes(dialogue, table or roles, entities, len(spoken) - len(kept))),
        )

    def restore(self, text: str, example: Example) -> str:
        """The model's text with the speakers' names and the entities' words back in place."""
        # For every token of a draft, so words are looked up where they make a difference.
        surfaces: dict[str, str] = {}
        if self.config.profile in CHINESE_PROFILES:
            names = {placeholder(i): name for i, name in enumerate(example.speakers)}
            surfaces = {**example.entities, **names}
        text = join(without_controls(text), self.config.profile, surfaces)
        if self.config.case == "restored":
            text = recased(text, [utterance.text for utterance in example.utterances])
        if self.masks_entities:
            text = EntityTable(example.entities).restore(text)
        return without_placeholders(restore_speakers(text, example.speakers))

    def _speakers(self, dialogue: Dialogue) -> SpeakerTable | None:
        if self.config.speakers != "atomic":
            return None
        others = other_names(dialogue) if self.config.own_names == "speaker" else {}
        return SpeakerTable(
            (self._normalise(name) for name in dialogue.speakers),
            {self._normalise(name): self._normalise(label) for name, label in others.items()},
        )

    def _reworded(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue without signatures and with chat spelling written out, where wanted."""
        if self.config.own_names == "speaker":
            dialogue = without_signatures(dialogue)
        if self.config.spelling == "kept":
            return dialogue
        written = (replace(u, text=without_abbreviations(u.text)) for u in dialogue.utterances)
        return replace(dialogue, utterances=tuple(written))

    def _spoken(self, dialogue: Dialogue) -> tuple[list[Utterance], EntityTable]:
        """The utterances normalised, with masks for entities where these are wanted."""
        if not self.masks_entities:
            normal = [self._normalised(u, u.text) for u in dialogue.utterances]
            return normal, EntityTable()
        # Found before a profile changes them: what is restored is what was said.
        plain = [normalise(u.text, "plain") for u in dialogue.utterances]
        names = (normalise(name, "plain") for name in dialogue.speakers)
        masked, entities = mask_entities(plain, names)
        pairs = zip(dialogue.utterances, masked, strict=True)
        return [self._normalised(u, text) for u, text in pairs], entities

    def _normalised(self, utterance: Utterance, text: str) -> Utterance:
        return Utterance(self._normalise(utterance.speaker), self._normalise(text), utterance.role)

    def _voiced(
        self,
        utterances: Sequence[Utterance],
        table: SpeakerTable | None,
        roles: RoleTable | None,
    ) -> Iterator[Utterance]:
        """The speaker (or role) as a placeholder, or (inline) as the first word of the text."""
        for utterance in utterances:
            speaker, text, role = utterance.speaker, utterance.text, utterance.role
            if table is not None:
                speaker, text = table.token(speaker), table.mask(text)
            elif roles is not None:
                speaker = roles.token(utterance)
            else:
                speaker, text = "", self._normalise(f"{speaker}: {text}") if speaker else text
            yield Utterance(self._segmented(speaker), self._segmented(text), role)

    def _references(self, dialogue: Dialogue) -> list[str]:
        """The references that become targets, as they were written."""
        texts = [text for text in dialogue.references if self._normalise(text)]
        if self.config.references == "first":
            return texts[:1]
        if self.config.references == "joined":
            return [" ".join(texts)] if texts else []
        return texts

    def _sub_summaries(
        self, dialogue: Dialogue, table: SpeakerTable | None, entities: EntityTable
    ) -> tuple[tuple[SubSummary, ...], ...]:
        """Each target by key points. The rules read it as written, with its names and case."""
        if self.pack is None:
            return ()
        section = section_of(dialogue)
        return tuple(
            tuple(
                SubSummary(part.label, self._target(part.text, table, entities))
                for part in self.pack.analyse(text, section)
            )
            for text in self._references(dialogue)
        )

    def _target(self, text: str, table: SpeakerTable | None, entities: EntityTable) -> str:
        """A reference: only what the dialogue holds is masked, so a mask is always supported."""
        plain = entities.mask(normalise(text, "plain")) if self.masks_entities else text
        normal = self._normalise(plain)
        return self._segmented(normal if table is None else table.mask(normal))

    def _segmented(self, text: str) -> str:
        return segment(text, self.config.profile)

    def _normalise(self, text: str) -> str:
        if self.masks_entities:
            return normalise_between(text, self.config.profile, MASK)
        return normalise(text, self.config.profile)


def _origins(
    spoken: Sequence[Utterance], groups: Sequence[Sequence[Utterance]]
) -> tuple[tuple[int, ...], ...]:
    """The numbers of the utterances in each group, those without text being in none."""
    numbers = (i for i, utterance in enumerate(spoken) if utterance.text)
    return tuple(tuple(islice(numbers, len(group))) for group in groups)


def _notes(
    dialogue: Dialogue, table: SpeakerTable | RoleTable | None, entities: EntityTable, empty: int
) -> Iterator[str]:
    if empty:
        yield f"{counted(empty, 'utterances')} without text left out"
    if table is not None and table.overflow:
        instead = "stay text" if isinstance(table, SpeakerTable) else "share one"
        yield f"{len(table.overflow)} of the speakers have no token of their own ({instead})"
    if dialogue.profile:
        yield "the model does not read the user profile"
    if entities.overflow:
        kinds = ", ".join(f"{count} {kind}" for kind, count in entities.overflow.items())
        yield f"more entities than tokens for them ({kinds} stay text)"
    texts = [t for u in dialogue.utterances for t in (u.speaker, u.text)]
    if any(has_reserved(text) for text in (*texts, *dialogue.references)):
        yield "private-use characters reserved by Dialogist replaced"
