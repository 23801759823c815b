"""E-mails and threads of them: a saved .eml file, or the copied text with headers and quotes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_string
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from itertools import groupby
from typing import NamedTuple

from dialogist.formats.documents import DEEPEST, QUOTE_MARK, from_html, without_signature
from dialogist.formats.moments import LISTS, line_patterns, times_of_stamps
from dialogist.formats.read_options import Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, SourceLine
from dialogist.formats.speaker_lines import has_speakers, is_heading
from dialogist.language.roles import role_of
from dialogist.language.tokens import listed
from dialogist.records import FIRST_INSTANT, Dialogue, Utterance

_KINDS = ("from", "date", "subject", "other")
_KEYS = {word: kind for kind in _KINDS for word in listed(LISTS[f"mail {kind}"])}
_FIELD, _ATTRIBUTION, _SAYS_WROTE, _ADDRESS, _DIVIDER, _BEGIN = line_patterns(
    "field", "attribution", "says_wrote", "address", "mail_divider", "mail_begin"
)
_REPLY = re.compile(r"(?:re|aw|fwd?|wg|tr|rv)\s*:", re.IGNORECASE)
# What the email package raises for headers that are damaged.
_FAULTS = (ValueError, LookupError, AttributeError, TypeError, RecursionError, MessageError)
_EARLY = 5  # lines above the first header
_LONGEST = 300  # characters of a header that are looked at
_MOST_FIELDS = 200  # lines of headers
_LONGEST_HEADER = 1 << 13  # characters that are parsed: what the package does grows with the square
_MULTIPART = re.compile(r"content-type:\s*multipart/", re.IGNORECASE)
_MOST_MULTIPARTS = 50
_WINDOW = 5  # words that say where a quoted line comes from
_ID = re.compile(r"<[^<>\s]{1,300}>")


class _Mail(NamedTuple):
    """Who sent it, when (seconds; None if unknown), whether it is a reply, and its lines."""

    sender: str
    sent: float | None
    is_reply: bool
    lines: list[str]


class _Part(NamedTuple):
    """Some lines of a mail; ``is_rest``: below others and what these answer."""

    mail: _Mail
    lines: list[str]
    is_quoted: bool
    is_rest: bool


class _Limited(Compat32):
    """Cuts headers that are out of proportion."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_LONGEST_HEADER]


def read_email(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a thread in the order of time; a quote that it does not hold is a turn."""
    lines, _ = _unpacked([line.text for line in source.lines(report)], 1, report)
    if turns := _turns(_mails(lines), report):
        yield Dialogue(turns, id=source.stem)


def read_mbox(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a mailbox as a dialogue for each thread: mails that refer to each other."""
    saved: list[list[SourceLine]] = []
    is_blank = True
    for line in source.lines(report):
        if is_blank and _BEGIN.fullmatch(line.text[:_LONGEST]):
            saved.append([])
        elif saved:
            saved[-1].append(line)
        elif line.text.strip():
            report(line.number, "text above the first mail of the mailbox")
        is_blank = not line.text.strip()
    threads: dict[int, list[_Mail]] = {}
    thread_of: dict[str, int] = {}
    for numbered in filter(None, saved):
        first = numbered[0].number
        texts = (line.text for line in numbered)
        texts = (t.removeprefix(">") if t.lstrip(">").startswith("From ") else t for t in texts)
        lines, ids = _unpacked(list(texts), first, report)
        thread = next((thread_of[each] for each in ids if each in thread_of), first)
        thread_of.update(dict.fromkeys(ids, thread))
        threads.setdefault(thread, []).extend(_mails(lines))
    for first, mails in threads.items():
        if turns := _turns(mails, report):
            yield Dialogue(turns, id=f"{source.stem}:{first}")


def is_mbox(head: str) -> bool:
    """Whether a mailbox begins: a line that programs write above each mail, then headers."""
    lines = head[: 4 * _LONGEST].split("\n")
    return len(lines) > 1 and bool(_BEGIN.fullmatch(lines[0]) and _FIELD.match(lines[1]))


def _turns(mails: list[_Mail], report: ProblemReporter) -> tuple[Utterance, ...]:
    """What the mails of a thread say, in the order of time."""
    mails = _in_order(mails)
    names = {a: n for n, a in (_name_and_address(mail.sender) for mail in mails) if a and n != a}
    parts = [part for mail in mails for part in _parts(mail)]
    known = {window for part in parts if not part.is_quoted for window in _windows(part.lines)}
    turns: list[Utterance] = []
    for mail, lines, is_quoted, is_rest in parts:
        if is_quoted:
            lines = [line for line in lines if not known.issuperset(_windows([line]))]
            known.update(_windows(lines))
        name, address = _name_and_address(mail.sender)
        name = names.get(address, name)
        text = "\n".join(lines).strip()
        body = without_signature(f"\n{text}" if is_rest else text, name).strip()
        report.leave_out("signatures", body != text)
        if body:
            turns.append(Utterance(name, body, role_of(name), mail.sent))
    if turns and not turns[0].speaker and is_heading(turns[0].text.split("\n")):
        turns[0] = replace(turns[0], role="system")
    return tuple(turns)


def _windows(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The words of lines by up to five at a time, which tell where they stand also."""
    words = [word for line in lines for word in line.replace(">", " ").split()]
    for size in range(1, _WINDOW + 1):
        yield from zip(*(words[n:] for n in range(size)), strict=False)


def is_email(lines: Sequence[str]) -> bool:
    """A mail's headers near the beginning, or a line such as "On May 3 Ann wrote:"."""
    return any(_head_at(lines, number)[0] for number in range(_EARLY)) or (
        any(_attribution(lines, number) for number in range(len(lines))) and not has_speakers(lines)
    )


def _unpacked(
    lines: Sequence[str], first: int, report: ProblemReporter
) -> tuple[Sequence[str], list[str]]:
    """The headers and the readable text of a saved mail, and its ids; other text as it is."""
    end = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
    marks = ("mime-version:", "content-type:", "message-id:")
    if not any(line.lower().startswith(marks) for line in lines[:end]):
        return lines, []
    if sum(map(bool, map(_MULTIPART.match, lines))) > _MOST_MULTIPARTS:
        report(first, f"an e-mail of more than {_MOST_MULTIPARTS} parts within parts: not read")
        return [], []
    try:
        mail = message_from_string("\n".join(lines), policy=_Limited())
        heads = [f"{key}: {_header(mail, key)}" for key in ("From", "To", "Date", "Subject")]
        text = _body(mail, report)
    except _FAULTS:
        return lines, []
    references = (str(mail.get(key, "")) for key in ("References", "In-Reply-To", "Message-ID"))
    ids = _ID.findall(" ".join(references))
    subject = heads[-1].partition(": ")[2]
    if len(ids) < 2 or not _REPLY.match(subject):  # it does not say what it answers
        ids.append(re.sub(rf"^(?:{_REPLY.pattern}\s*)+", "", subject, flags=re.IGNORECASE))
    return [*heads, "", *text.splitlines()], ids


def _header(mail: Message, key: str) -> str:
    value = " ".join(str(mail.get(key, "")).split())
    with suppress(*_FAULTS):
        return str(make_header(decode_header(value)))
    return value


def _body(mail: Message, report: ProblemReporter) -> str:
    """The text of a mail: its plain parts, or where there are none its HTML."""
    plain: list[str] = []
    pages: list[str] = []
    for part in mail.walk():
        outside = f"{part.preamble or ''}\n{part.epilogue or ''}".split("\n")
        report.leave_out("lines outside of parts", sum(map(bool, map(str.strip, outside))))
    for part in _leaves(mail):
        if part.get_filename() or part.get_content_maintype() != "text":
            report.leave_out("attachments")
        elif part.get_content_subtype() == "html":
            pages.append(from_html(_decoded(part), {"blockquote": QUOTE_MARK}))
        else:
            plain.append(_decoded(part))
    return "\n".join(plain or pages)


def _leaves(mail: Message) -> Iterator[Message]:
    """The parts that hold no others; a mail within a mail is one."""
    parts = mail.get_payload() if mail.get_content_maintype() == "multipart" else None
    for part in parts if isinstance(parts, list) else ():
        yield from _leaves(part) if isinstance(part, Message) else ()
    if not isinstance(parts, list):
        yield mail


def _decoded(part: Message) -> str:
    encoding = str(part["content-transfer-encoding"]).strip().lower()
    if encoding not in ("base64", "quoted-printable"):
        return str(part.get_payload())  # was decoded with the file
    data = bytes(part.get_payload(decode=True))
    with suppress(LookupError):
        return data.decode(str(part.get_content_charset("utf-8")), "replace")
    return data.decode("utf-8", "replace")


def _mails(lines: Sequence[str]) -> list[_Mail]:
    """The mails that headers, or lines such as "On May 3 Ann wrote:", begin."""
    mails = [_Mail("", None, True, [])]
    number = looked_at = 0
    while number < len(lines):
        mail, end = None, number
        if number >= looked_at:  # lines of a head that is none are not looked at again
            mail, looked_at = _head_at(lines, number)
            end = looked_at
        if mail is None and (opening := _attribution(lines, number)):
            end = opening[1]
            filled = (lines[n] for n in range(end, len(lines)) if lines[n].strip())
            mail = None if next(filled, ">").lstrip().startswith(">") else opening[0]
        if mail:
            mails.append(mail)
        elif not _DIVIDER.fullmatch(lines[number][:_LONGEST]):
            mails[-1].lines.append(lines[number])
        number = end if mail else number + 1
    return [mail for mail in mails if any(line.strip() for line in mail.lines)]


def _head_at(lines: Sequence[str], start: int) -> tuple[_Mail | None, int]:
    """The mail whose headers begin at a line, if they are whole, and where they end."""
    fields: dict[str, str] = {}
    end, key = start, ""
    while end < min(len(lines), start + _MOST_FIELDS):
        line = lines[end]
        field = _FIELD.fullmatch(line)
        name = field["key"].lower() if field else ""
        if field and (name in _KEYS or (fields and "-" in name)):
            key = _KEYS.get(name, "other")
            fields.setdefault(key, field["value"].strip()[:_LONGEST])
        elif not (key and line[:1].isspace() and line.strip()):
            break
        end += 1
    sender = fields.get("from", "")
    if not sender or len(fields) < 2 or not ("date" in fields or "@" in sender):
        return None, end
    is_reply = bool(_REPLY.match(fields.get("subject", "")))
    return _Mail(sender, _moment(fields.get("date", "")), is_reply, []), end


def _attribution(lines: Sequence[str], number: int) -> tuple[_Mail, int] | None:
    """The mail that "On May 3 Ann wrote:" begins, perhaps over two lines, and where it begins."""
    for end in (number + 1, number + 2):
        line = " ".join(part[:_LONGEST].strip() for part in lines[number:end])
        if _SAYS_WROTE.search(line) and (match := _ATTRIBUTION.fullmatch(line)):
            return _Mail(match["name"], _moment(match["date"]), False, []), end
    return None


def _moment(stamp: str) -> float | None:
    """When a mail was sent; a time of a day that is not known says nothing beside others."""
    seconds = times_of_stamps([stamp])[0]
    return seconds if seconds and seconds >= FIRST_INSTANT else None


def _in_order(mails: list[_Mail]) -> list[_Mail]:
    """The mails by their times; without these, newest first is turned round."""
    above = mails[:1] if mails and not mails[0].sender else []
    rest = mails[len(above) :]
    if all(mail.sent is not None for mail in rest):
        rest.sort(key=lambda mail: mail.sent or 0)
    elif rest[0].is_reply and not rest[-1].is_reply:
        rest.reverse()
    # What stands above all headers is a title, or the answer to the rest.
    is_title = bool(above) and is_heading(above[0].lines)
    return [*above, *rest] if is_title else [*rest, *above]


def _parts(mail: _Mail, depth: int = 0) -> Iterator[_Part]:
    """What a mail says and what it quotes, in the order of time."""
    parts: list[_Part] = []
    author: _Mail | None = None
    runs = groupby(mail.lines, lambda line: depth < DEEPEST and line.lstrip().startswith(">"))
    for is_quoted, run in runs:
        lines = list(run)
        if is_quoted:
            inner = _mails([line.lstrip()[1:].removeprefix(" ") for line in lines])
            for older in _in_order(inner):
                known = older if older.sender or not author else author._replace(lines=older.lines)
                parts += _parts(known, depth + 1)
            continue
        filled = [n for n, line in enumerate(lines) if line.strip()]
        for number in filled[-2:]:
            if opening := _attribution(lines, number):
                author, lines = opening[0], lines[:number]
                break
        else:
            last = lines[filled[-1]].strip() if filled and "\n>" in "\n".join(mail.lines) else ""
            if last.endswith(">:") and "@" in last:  # words of another language around an address
                sender = last[last.rfind("<") + 1 : -2]
                author, lines = _Mail(sender, None, True, []), lines[: filled[-1]]
        if any(line.strip() for line in lines):
            parts.append(_Part(mail, lines, depth > 0, bool(parts)))
    own = ((n, "\n".join(["", *part.lines])) for n, part in enumerate(parts) if part.mail is mail)
    if [n for n, text in own if n == 0 or without_signature(text).strip()] == [0]:
        # The answer, but for a signature, stands above what it answers.
        parts.append(parts.pop(0))
    yield from parts


def _name_and_address(sender: str) -> tuple[str, str]:
    """The name to show and the address; each is the other where one lacks."""
    match = _ADDRESS.fullmatch(sender)
    address = match["address"].lower() if match else sender.lower() if "@" in sender else ""
    name = (match["name"] if match else sender).strip(" \"'")
    return name or address, address
