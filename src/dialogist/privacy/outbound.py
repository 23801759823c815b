"""What leaves the machine: a dialogue with masks, and the way back for what is written of it."""

from dataclasses import dataclass, replace

from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.masks import MaskTable, mask_text
from dialogist.privacy.packs import Privacy, privacy_of
from dialogist.records import Dialogue, Draft


@dataclass
class Outbound:
    """A dialogue as it is sent; without a ``privacy`` it is sent as it is."""

    dialogue: Dialogue
    table: MaskTable
    privacy: Privacy | None

    def restored(self, draft: Draft) -> Draft:
        """A draft of the dialogue with what its masks stand for."""
        if self.privacy is None:
            return draft
        text, owner, deadline = map(self.table.restore, (draft.text, draft.owner, draft.deadline))
        return replace(draft, text=text, owner=owner, deadline=deadline)

    def masked(self, text: str) -> str:
        """A text about the dialogue with the same masks."""
        if self.privacy is None:
            return text
        result, self.table = mask_text(text, self.privacy, self.table)
        return result.text


def outbound(dialogue: Dialogue, masks: bool) -> Outbound:
    """The dialogue as it may leave the machine; worked out once a dialogue."""
    if not masks:
        return Outbound(dialogue, MaskTable(), None)
    known = dialogue.cache.get("outbound")
    if not isinstance(known, Outbound):
        privacy = privacy_of(names="people")
        known = dialogue.cache["outbound"] = Outbound(*mask_dialogue(dialogue, privacy), privacy)
    return known
