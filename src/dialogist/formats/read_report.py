"""What is said of a file that was read: how much, what was left out, and what looks misread."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dialogist.formats.fields import INTERNAL_NOTES
from dialogist.formats.speaker_lines import HEADER_WORDS
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, ReadReport

_REMEDIES = {INTERNAL_NOTES: "--include-internal tells them"}
_LONG = 150  # words of an utterance that may be a whole file
_CLOCK = re.compile(r"^[ \t]*+\[?\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?\]?[ \t]*+$", re.MULTILINE)
_HEADER = r"(?:From|To|Sent|Cc|Subject|Date): ?"
_CODE = re.compile(
    r"\A\s*+[\[{]\s*+[\"{\[](?s:.*)[\]}]\s*\Z|-->[ \t]*+\d\d:|"
    rf"^{_HEADER}[^\n]+\n{_HEADER}",
    re.MULTILINE,
)
_SEEN = 2_000  # characters of a text that are looked at


def report_of(dialogue: Dialogue, format: str, left_out: Mapping[str, int]) -> ReadReport:
    """The report of a dialogue as a reader of ``format`` made it; ``left_out`` by kind."""
    said = sum(bool(u.text.strip()) for u in dialogue.utterances)
    warnings = tuple(_warnings(dialogue, said))
    return ReadReport(format, said, len(dialogue.speakers), dict(left_out), warnings)


def _warnings(dialogue: Dialogue, said: int) -> Iterator[str]:
    """What looks misread, and what to do about it; no word of the dialogue is quoted."""
    texts = [u.text[:_SEEN] for u in dialogue.utterances]
    names = Counter(u.speaker for u in dialogue.utterances if u.speaker)
    remedy = "--column speaker=KEY names the key or column, --input-format another format"
    if said == 1 and len(texts[0].split()) > _LONG:
        yield f"the whole file is one utterance: if it has turns, {remedy}"
    elif said > 2 and not names:
        yield f"no speaker is named: if the file names them, {remedy}"
    elif said > 3 and len(names) == 1:
        yield f"only one speaker is named: if there are more, {remedy}"
    count = sum(bool(_CLOCK.search(text)) for text in texts)
    if count > 1 and 5 * count >= said:
        yield (
            f"{counted(count, 'texts')} with a clock alone on a line: times may be read as words; "
            "--input-format names another format"
        )
    if any(map(_CODE.search, texts)):
        yield "a text holds JSON, timings or header lines: --input-format names another format"
    if any(count == 1 and name.lower() in HEADER_WORDS for name, count in names.items()):
        yield "a speaker that speaks once looks like a header: remove the lines above the dialogue"


@dataclass(slots=True)
class FileReport:
    """What was read of a file, for one line."""

    format: str
    dialogues: int = 0
    utterances: int = 0
    speakers: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, reading: ReadReport) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.utterances += reading.utterances
        self.speakers = reading.speakers
        self.left_out.update(reading.left_out)
        self.warnings.update(reading.warnings)

    def lines(self) -> Iterator[str]:
        """What was read and left out; then a line for each warning."""
        if not self.dialogues:
            return
        several = [counted(self.dialogues, "dialogues")] if self.dialogues > 1 else []
        alone = [counted(self.speakers, "speakers")] if self.dialogues == 1 else []
        parts = [*several, counted(self.utterances, "utterances"), *alone]
        left = [
            counted(count, what) + (f" ({_REMEDIES[what]})" if what in _REMEDIES else "")
            for what, count in self.left_out.items()
        ]
        told = f"; left out: {', '.join(left)}" if left else ""
        yield f"read as {self.format}: {', '.join(parts)}{told}"
        for warning, count in self.warnings.items():
            more = f" (in {counted(count, 'dialogues')})" if count > 1 else ""
            yield f"warning: {warning}{more}"


_TWICE = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0178\u02c6-\u2122]")
"""Bytes of UTF-8 that were read as Latin-1, or as Windows reads them."""


def repaired(dialogue: Dialogue) -> Dialogue:
    """The dialogue with UTF-8 that was read as Latin-1 (``cafÃ©``) put right, where it is certain.

    Certain is what is UTF-8 from end to end when its characters are taken for bytes.
    """
    if not any(_TWICE.search(u.text) or _TWICE.search(u.speaker) for u in dialogue.utterances):
        return dialogue
    utterances = tuple(
        replace(u, speaker=_repaired(u.speaker), text=_repaired(u.text))
        for u in dialogue.utterances
    )
    return replace(dialogue, utterances=utterances, is_verbatim=False)


def _repaired(text: str) -> str:
    for encoding in ("latin-1", "cp1252"):
        if _TWICE.search(text):
            try:
                right = text.encode(encoding).decode("utf-8")
            except UnicodeError:
                continue
            return text if any("\x7f" < c < "\xa0" for c in right) else right
    return text
