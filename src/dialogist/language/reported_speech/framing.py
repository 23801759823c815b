"""What the rules of reported speech share: turned words, capitals, and the frame "Ann says"."""

from collections.abc import Container
from typing import Final

from dialogist.language.reported_speech.morphology import is_base, is_gerund
from dialogist.language.reported_speech.person_shift import (
    PrecedingNames,
    ShiftedText,
    SpeakerListener,
    shift_person,
)
from dialogist.language.reported_speech.third_persons import people_in
from dialogist.language.reported_speech.words import words_of
from dialogist.language.roles import is_role
from dialogist.language.tokens import OPENERS, word_set

FAMILY = word_set("mom mum mam mommy mummy dad daddy grandma grandpa granny aunt uncle auntie")
DATES = word_set("""
monday tuesday wednesday thursday friday saturday sunday january february april june july august
september october november december christmas easter
""")
_CAPITALS = DATES | FAMILY

_OF_SPEAKER = word_set("i me my mine myself")
# Whose business it is what they say; a "Dr. Kent" or a "Night Nurse" is one, too.
_ADVISERS = word_set("""
agent support doctor dr optician system assistant nurse pharmacist pharmacy dentist therapist
counselor counsellor lawyer solicitor advisor adviser consultant representative rep clerk
technician helpdesk desk gp vet midwife physio physiotherapist optometrist audiologist
dermatologist gynaecologist psychologist psychiatrist surgeon dietician dietitian orthodontist
hygienist paramedic radiologist cardiologist paediatrician podiatrist allergist receptionist
reception clinic hospital hotel bank shop store garage mechanic service services care registrar
dispatcher operator office hall enquiries bookings booking
""")

Verdict = tuple[bool, str | None]
"""What a rule says of a sentence: whether it is of its kind, and the report; None: quote it."""
NOT_MINE: Final[Verdict] = (False, None)
QUOTE: Final[Verdict] = (True, None)


class Frame:
    """What one speaker says to another.

    ``small``: words that the dialogue writes small; ``contested``: others deny what is said;
    ``chat``: it is typed in passing.
    """

    def __init__(
        self,
        pair: SpeakerListener,
        small: Container[str] = (),
        contested: bool = False,
        chat: bool = False,
    ) -> None:
        self.speaker = pair.speaker
        self.listener = pair.listener
        self.contested = contested
        self.chat = chat
        self._pair = pair
        self._small = small

    @property
    def is_adviser(self) -> bool:
        """Whether others do what the speaker tells them, as patients and customers do."""
        words = self.speaker.lower().replace(".", " ").split()
        return bool(words) and (words[0] in _ADVISERS or words[-1] in _ADVISERS)

    def in_third_person(
        self, text: str, owner: str | None = None, *mentioned: str
    ) -> ShiftedText | None:
        """``text`` in the third person.

        ``owner``: the name of the subject before it; ``mentioned``: the names before it.
        """
        lone = not people_in(text, self._pair)
        return shift_person(text, self._pair, PrecedingNames(owner, mentioned, lone))

    def behind(self, verb: str, text: str, owner: str | None = None, *mentioned: str) -> str | None:
        """ "Ann" + ``verb`` + ``text`` in the third person."""
        told = self.in_third_person(self.lowered(text), owner, *(mentioned or (self.speaker,)))
        return None if told is None else f"{self.speaker} {verb} {told.text}"

    def labelled(self, text: str) -> str | None:
        """ "Ann:" + ``text`` in the third person; None where "they" would not be clear in it."""
        told = self.in_third_person(self.lowered(text), None, self.speaker)
        if told is None or told.plural:
            return None
        if not is_role(self.speaker) and any(word.low in _OF_SPEAKER for word in words_of(text)):
            return None
        return f"{self.speaker}: {told.text}"

    def lowered(self, text: str) -> str:
        """``text`` with a small first letter, unless its first word may be a name."""
        if not words_of(text) or not self.is_small(text) or text[:2] in ("I ", "I'"):
            return text
        return decapitalised(text)

    def is_small(self, text: str) -> bool:
        """Whether the first word is no name, so that it may be written small."""
        first = words_of(text)[0]
        if not first.is_capital:
            return True
        bare = first.low.split("'")[0]
        if bare in _CAPITALS or not first.text[0].isalpha() or not first.text[1:].islower():
            return bare in ("a", "i")
        return bare in OPENERS or bare in self._small or is_base(bare) or is_gerund(bare)


def decapitalised(text: str) -> str:
    """``text`` with a small first letter, unless it begins with an abbreviation."""
    return text if text[1:2].isupper() else text[0].lower() + text[1:]
