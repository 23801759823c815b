"""Masking a whole dialogue, and putting everything back.

The texts of a dialogue are, in this order: speaker and text of each utterance, the references, and
every text within the metadata. Its id stays: it is what joins the dialogue with other files.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from dialogist.privacy.masks import MaskTable, mask_text, mask_texts
from dialogist.privacy.options import CODE, Privacy
from dialogist.privacy.people import is_person
from dialogist.records import JSON, Dialogue

_KINDS_OF_IDS = frozenset((CODE, "ORDER", "ID"))


def mask_dialogue(dialogue: Dialogue, privacy: Privacy) -> tuple[Dialogue, MaskTable]:
    """The dialogue with masks for personal data, and what stands behind them.

    Roles (``agent``, ``客服``) and names that are masks already (``#Person1#``) are no such data.
    """
    speakers = tuple(filter(is_person, dialogue.speakers)) if privacy.names != "none" else ()
    masked, table = mask_texts(texts_of(dialogue), privacy, speakers, questions_of(dialogue))
    return _with_texts(dialogue, iter([one.text for one in masked])), table


def restore_dialogue(dialogue: Dialogue, table: MaskTable) -> Dialogue:
    """The dialogue that was masked, exactly.

    One that was changed since has the words of their first mention in place of the masks.
    """
    texts = texts_of(dialogue)
    try:
        restored = table.restore_texts(texts)
    except ValueError:
        restored = tuple(map(table.restore, texts))
    return _with_texts(dialogue, iter(restored))


def texts_of(dialogue: Dialogue) -> list[str]:
    """All texts of a dialogue in order."""
    said = [text for u in dialogue.utterances for text in (u.speaker, u.text)]
    return [*said, *dialogue.references, *_texts_in(dict(dialogue.metadata))]


def questions_of(dialogue: Dialogue) -> list[str]:
    """For each of its texts the turn before, where there is one."""
    said = ["", *(u.text for u in dialogue.utterances)][: len(dialogue.utterances)]
    before = [question for text in said for question in ("", text)]
    return [*before, *[""] * (len(texts_of(dialogue)) - len(before))]


def _with_texts(dialogue: Dialogue, texts: Iterator[str]) -> Dialogue:
    """The dialogue with other texts, in the order of `texts_of`."""
    return replace(
        dialogue,
        utterances=tuple(
            replace(u, speaker=next(texts), text=next(texts)) for u in dialogue.utterances
        ),
        references=tuple(next(texts) for _ in dialogue.references),
        metadata={key: _replaced(value, texts) for key, value in dialogue.metadata.items()},
    )


def _texts_in(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts_in(item)


def _replaced(value: JSON, texts: Iterator[str]) -> JSON:
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, list):
        return [_replaced(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, texts) for key, item in value.items()}
    return value


class Masking:
    """Masks one dialogue after the other, and counts.

    ``counts`` are mentions by kind; ``with_masks`` of ``dialogues`` have one; ``ids`` held personal
    data, too (a chat that is called by its phone number).
    """

    def __init__(self, privacy: Privacy) -> None:
        self.privacy = privacy
        self.counts: Counter[str] = Counter()
        self.dialogues = self.with_masks = self.ids = 0
        # Ids are numbers and codes by nature: only what is personal beyond doubt is masked.
        self._of_ids = replace(
            privacy,
            kinds=privacy.kinds - _KINDS_OF_IDS,
            names="none" if privacy.names == "none" else "speakers",
        )

    def mask(self, dialogue: Dialogue) -> tuple[Dialogue, MaskTable]:
        """`mask_dialogue`; an id with personal data is masked, and numbered so as to stay alone."""
        masked, table = mask_dialogue(dialogue, self.privacy)
        self.dialogues += 1
        self.with_masks += bool(table.values)
        self.counts += table.counts()
        identity, _ = mask_text(dialogue.id, self._of_ids, table)
        # One run of letters and digits is an id by nature, even if it could be dialled.
        if identity.spans and not dialogue.id.isalnum():
            self.ids += 1
            masked = replace(masked, id=f"{identity.text}#{self.dialogues}")
        return masked, table


def restored(dialogue: Dialogue, original_id: str, table: MaskTable) -> Dialogue:
    """What `Masking.mask` masked, its id included."""
    return replace(restore_dialogue(dialogue, table), id=original_id)
