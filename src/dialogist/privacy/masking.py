"""Masking whole dialogues, finished summaries and a program's own messages.

The texts of a dialogue are, in this order: speaker and text of each utterance, the references, the
values of the profile, and every text within the metadata. Its id stays: it is what joins the
dialogue with other files.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from dialogist.language.tokens import Replaced
from dialogist.privacy.finding import is_person
from dialogist.privacy.masks import MaskTable, mask_text, mask_texts
from dialogist.privacy.packs import CODE, Privacy, privacy_of
from dialogist.records import JSON, Dialogue, Statement, Summary


def mask_dialogue(dialogue: Dialogue, privacy: Privacy) -> tuple[Dialogue, MaskTable]:
    """The dialogue with masks for personal data, and what stands behind them.

    Roles (``agent``, ``客服``) and names that are masks already (``#Person1#``) are no such data.
    """
    named = [value for field, value in dialogue.profile.items() if "name" in field.lower()]
    people = filter(is_person, (*dialogue.speakers, *named))
    speakers = tuple(people) if privacy.names != "none" else ()
    masked, table = mask_texts(dialogue_texts(dialogue), privacy, speakers, questions_of(dialogue))
    texts = iter(masked)
    return _with_texts(dialogue, lambda _: next(texts).text), table


def restore_dialogue(dialogue: Dialogue, table: MaskTable) -> Dialogue:
    """The dialogue that was masked, exactly.

    One that was changed since has the words of their first mention in place of the masks.
    """
    try:
        texts = iter(table.restore_texts(dialogue_texts(dialogue)))
    except ValueError:
        return _with_texts(dialogue, table.restore)
    return _with_texts(dialogue, lambda _: next(texts))


def dialogue_texts(dialogue: Dialogue) -> list[str]:
    """All texts of a dialogue in order."""
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    _with_texts(dialogue, collect)
    return texts


def questions_of(dialogue: Dialogue) -> list[str]:
    """For each of its texts the turn before, where there is one."""
    turns = ["", *(u.text for u in dialogue.utterances)][: len(dialogue.utterances)]
    before = [question for text in turns for question in ("", text)]
    return [*before, *[""] * (len(dialogue_texts(dialogue)) - len(before))]


def _with_texts(dialogue: Dialogue, change: Callable[[str], str]) -> Dialogue:
    """The dialogue with every text changed, in the order of `dialogue_texts`."""

    def changed(value: JSON) -> JSON:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [changed(item) for item in value]
        if isinstance(value, dict):
            return {key: changed(item) for key, item in value.items()}
        return value

    utterances = tuple(
        replace(u, speaker=change(u.speaker), text=change(u.text)) for u in dialogue.utterances
    )
    is_same = [u.text for u in utterances] == [u.text for u in dialogue.utterances]
    return replace(
        dialogue,
        utterances=utterances,
        is_verbatim=dialogue.is_verbatim and is_same,
        references=tuple(map(change, dialogue.references)),
        profile={name: change(text) for name, text in dialogue.profile.items()},
        metadata={key: changed(value) for key, value in dialogue.metadata.items()},
    )


class DialogueMasking:
    """Masks one dialogue after the other, and counts.

    ``counts`` are mentions by kind; ``with_masks`` of ``dialogues`` have one; ``ids`` held personal
    data, too (a chat that is called by its phone number).
    """

    def __init__(self, privacy: Privacy) -> None:
        self.privacy = privacy
        self.counts: Counter[str] = Counter()
        self.dialogues = self.with_masks = self.ids = 0

    def mask(self, dialogue: Dialogue) -> tuple[Dialogue, MaskTable]:
        """`mask_dialogue`; an id with personal data is masked, and numbered so as to stay alone."""
        masked, table = mask_dialogue(dialogue, self.privacy)
        self.dialogues += 1
        self.with_masks += bool(table.values)
        self.counts += table.counts()
        identity = masked_id(dialogue.id, self.privacy, table)
        if identity != dialogue.id:
            self.ids += 1
            masked = replace(masked, id=f"{identity}#{self.dialogues}")
        return masked, table


def masked_id(identity: str, privacy: Privacy, table: MaskTable) -> str:
    """An id without what is personal beyond doubt: ids are numbers and codes by nature.

    One run of letters and digits stays, even if it could be dialled.
    """
    kept = replace(
        privacy,
        kinds=privacy.kinds - {CODE, "ORDER", "ID"},
        names="none" if privacy.names == "none" else "speakers",
    )
    return identity if identity.isalnum() else mask_text(identity, kept, table)[0].text


def restore_masked(dialogue: Dialogue, original_id: str, table: MaskTable) -> Dialogue:
    """What `DialogueMasking.mask` masked, its id included."""
    return replace(restore_dialogue(dialogue, table), id=original_id)


def mask_summary(
    summary: Summary, privacy: Privacy, table: MaskTable | None = None
) -> tuple[Summary, MaskTable]:
    """The summary with masks for personal data, and the table with what it added.

    ``table`` is that of the dialogue (`mask_dialogue`): the same value has the same mask. Texts,
    reasons and warnings are masked; the places of statements are those in the masked text. Places
    in the dialogue (evidence) stay those of the dialogue that was read.
    """
    table = table or MaskTable()

    def masked(text: str) -> Replaced:
        nonlocal table
        result, table = mask_text(text, privacy, table)
        return result

    def statement(part: Statement) -> Statement:
        reasons = tuple(masked(reason).text for reason in part.reasons)
        if summary.text[part.start : part.end] != part.text:
            return replace(part, text=masked(part.text).text, reasons=reasons)
        start, end = text.place(part.start), text.place(part.end)
        return replace(part, text=text.text[start:end], start=start, end=end, reasons=reasons)

    text = masked(summary.text)
    result = replace(
        summary,
        text=text.text,
        reason=masked(summary.reason).text,
        statements=tuple(map(statement, summary.statements)),
        warnings=tuple(replace(w, message=masked(w.message).text) for w in summary.warnings),
    )
    return result, table


def masked_line(text: str) -> str:
    """The line with masks, numbered within it.

    All usual kinds but bare codes: counts of tokens, check sums and names of runs are long numbers,
    too. Names of people stay.
    """
    # Every kind holds a digit or an @: most lines need no look.
    if not any(c == "@" or c.isdecimal() for c in text):
        return text
    return mask_text(text, _usual())[0].text


@lru_cache(maxsize=1)
def _usual() -> Privacy:
    usual = privacy_of()
    return replace(usual, kinds=usual.kinds - {CODE})
