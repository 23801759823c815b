"""Files that hold no text as they are: what they are, and what a person can do about it."""

import re

ZIP_MAGIC = b"PK\x03\x04"

_MAGIC = (
    (b"%PDF-", "is a PDF: save its text first (pdftotext FILE.pdf, or 'Save as text')"),
    (b"PAR1", "is a Parquet file: give it a name that ends in .parquet"),
    (b"\xd0\xcf\x11\xe0", "is an old Office file: save it as .docx, .csv or .txt first"),
    (b"{\\rtf", "is rich text (RTF): save it as .docx or .txt first"),
    (b"ID3", "is a recording: transcribe it first (the JSON of Whisper is read)"),
    (b"RIFF", "is a recording: transcribe it first (the JSON of Whisper is read)"),
    (b"OggS", "is a recording: transcribe it first (the JSON of Whisper is read)"),
    (b"fLaC", "is a recording: transcribe it first (the JSON of Whisper is read)"),
    (b"\x1a\x45\xdf\xa3", "is a recording: transcribe it first (the JSON of Whisper is read)"),
    (b"\x89PNG", "is a picture: its text has to be typed or recognised first"),
    (b"\xff\xd8\xff", "is a picture: its text has to be typed or recognised first"),
    (b"GIF8", "is a picture: its text has to be typed or recognised first"),
    (b"SQLite format 3", "is a database: export the messages as CSV or JSON first"),
)
_MP4 = re.compile(rb"....ftyp", re.DOTALL)


def refusal_of(head: bytes) -> str:
    """Say what a file is that begins with these bytes, and what to do; empty if it may be text."""
    for magic, advice in _MAGIC:
        if head.startswith(magic):
            return advice
    if _MP4.match(head):
        return "is a recording: transcribe it first (the JSON of Whisper is read)"
    return ""
