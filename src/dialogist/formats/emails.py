"""E-mails and threads of them: a saved .eml file, or the copied text with headers and quotes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import mktime_tz, parsedate_tz
from itertools import groupby
from typing import NamedTuple

from dialogist.formats.documents import from_html, without_signature
from dialogist.formats.read_options import Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import has_speakers, is_heading
from dialogist.language.roles import role_of
from dialogist.language.tokens import listed
from dialogist.records import Dialogue, Utterance

_KEYS = {
    **dict.fromkeys(listed("from von de"), "from"),
    **dict.fromkeys(listed("date sent datum gesendet envoyé enviado"), "date"),
    **dict.fromkeys(listed("subject betreff objet asunto"), "subject"),
    **dict.fromkeys(listed("to cc bcc an à para importance reply-to received references"), "other"),
}
_FIELD = re.compile(r"\s*\**(?P<key>[^\W\d_][\w-]*)\s?:\**(?P<value>.*)")
_ATTRIBUTION = re.compile(
    r"(?:On|Am|Le|El)\b(?P<date>[^<>]*\d(?:\s?[AaPp]\.?[Mm]\.?|\s?(?:UTC|GMT))?)[\s,]*"
    r"(?:schrieb|a écrit|escribió)?\s*(?P<name>[^\W\d_].*?)\s*(?:wrote|a écrit|escribió)?\s?:\s*"
)
_SAYS_WROTE = re.compile(r"\b(?:wrote|schrieb|écrit|escribió)\b[^:]{0,60}:\s*$")
_ADDRESS = re.compile(
    r"(?P<name>.*?)\s*[<\[(](?:mailto:)?(?P<address>[^<>\[\]()\s]+@[^<>\s\])]+).*"
)
_DIVIDER = re.compile(r"\s*(?:[-_=]{3,}.{0,40}?[-_=]{3,}|_{5,}|Begin forwarded message:)\s*")
_REPLY = re.compile(r"(?:re|aw|fwd?|wg|tr|rv)\s*:", re.IGNORECASE)
# What the email package raises for headers that are damaged.
_FAULTS = (ValueError, LookupError, AttributeError, TypeError, RecursionError, MessageError)
_EARLY = 5  # lines above the first header
_LONGEST = 300  # characters of a header that are looked at
_DEEPEST = 20  # quotes within quotes


class _Mail(NamedTuple):
    """Who sent it, when (seconds; None if unknown), whether it is a reply, and its lines."""

    sender: str
    sent: float | None
    is_reply: bool
    lines: list[str]


_Part = tuple[str, list[str], bool]
"""The sender of some lines, these, and whether they are quoted."""


def read_email(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a thread as one dialogue of its senders, in the order of time.

    A quoted mail is an utterance of its own where the thread does not hold it as well.
    """
    mails = _in_order(_mails(_unpacked([line.text for line in source.lines(report)])))
    names = {a: n for n, a in (_name_and_address(mail.sender) for mail in mails) if a and n != a}
    parts = [part for mail in mails for part in _parts(mail)]
    known = " ".join(_squeezed(lines) for _, lines, is_quoted in parts if not is_quoted)
    turns: list[Utterance] = []
    for sender, lines, is_quoted in parts:
        if is_quoted:
            lines = [line for line in lines if _squeezed([line]) not in known]
            known = f"{known} {_squeezed(lines)}"
        name, address = _name_and_address(sender)
        name = names.get(address, name)
        if text := without_signature("\n".join(lines).strip(), name):
            turns.append(Utterance(name, text, role_of(name)))
    if turns and not turns[0].speaker and is_heading(turns[0].text.split("\n")):
        turns[0] = replace(turns[0], role="system")
    if turns:
        yield Dialogue(tuple(turns), id=source.stem)


def is_email(lines: Sequence[str]) -> bool:
    """A mail's headers near the beginning, or a line such as "On May 3 Ann wrote:"."""
    return any(_head_at(lines, number) for number in range(_EARLY)) or (
        any(_attribution(lines, number) for number in range(len(lines))) and not has_speakers(lines)
    )


def _unpacked(lines: Sequence[str]) -> Sequence[str]:
    """The headers and the readable text of a saved mail; other text as it is."""
    end = next((n for n, line in enumerate(lines) if not line.strip()), len(lines))
    if not any(line.lower().startswith(("mime-version:", "content-type:")) for line in lines[:end]):
        return lines
    try:
        mail = message_from_bytes("\n".join(lines).encode(), policy=policy.default)
        heads = [f"{key}: {mail[key] or ''}" for key in ("From", "To", "Date", "Subject")]
        text = _body(mail)
    except _FAULTS:
        return lines
    return [*heads, "", *text.splitlines()]


def _body(mail: EmailMessage) -> str:
    body = mail.get_body(("plain", "html"))
    if body is None:
        return ""
    encoding = str(body["content-transfer-encoding"]).lower()
    # What is not encoded was decoded with the file.
    is_encoded = encoding in ("base64", "quoted-printable")
    charset = str(body.get_content_charset("utf-8")) if is_encoded else "utf-8"
    data = bytes(body.get_payload(decode=True))
    try:
        text = data.decode(charset, "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    return from_html(text) if body.get_content_subtype() == "html" else text


def _mails(lines: Sequence[str]) -> list[_Mail]:
    """The mails that headers, or lines such as "On May 3 Ann wrote:", begin."""
    mails = [_Mail("", None, True, [])]
    number = 0
    while number < len(lines):
        head = _head_at(lines, number)
        if head is None and (opening := _attribution(lines, number)):
            below = next((line for line in lines[opening[1] :] if line.strip()), ">")
            head = None if below.lstrip().startswith(">") else opening
        if head:
            mails.append(head[0])
            number = head[1]
        else:
            if not _DIVIDER.fullmatch(lines[number][:_LONGEST]):
                mails[-1].lines.append(lines[number])
            number += 1
    return [mail for mail in mails if any(line.strip() for line in mail.lines)]


def _head_at(lines: Sequence[str], start: int) -> tuple[_Mail, int] | None:
    """The mail whose headers begin at a line, and where they end."""
    fields: dict[str, str] = {}
    end, key = start, ""
    while end < len(lines):
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
        return None
    is_reply = bool(_REPLY.match(fields.get("subject", "")))
    return _Mail(sender, _seconds(fields.get("date", "")), is_reply, []), end


def _attribution(lines: Sequence[str], number: int) -> tuple[_Mail, int] | None:
    """The mail that "On May 3 Ann wrote:" begins, perhaps over two lines, and where it begins."""
    for end in (number + 1, number + 2):
        line = " ".join(part[:_LONGEST].strip() for part in lines[number:end])
        if _SAYS_WROTE.search(line) and (match := _ATTRIBUTION.fullmatch(line)):
            return _Mail(match["name"], _seconds(match["date"]), False, []), end
    return None


def _in_order(mails: list[_Mail]) -> list[_Mail]:
    """The mails by their times; without these, newest first is turned round."""
    above = mails[:1] if mails and not mails[0].sender else []
    rest = mails[len(above) :]
    times = [mail.sent for mail in rest if mail.sent is not None]
    if len(times) == len(rest):
        rest = [mail for _, mail in sorted(zip(times, rest, strict=True), key=lambda pair: pair[0])]
    elif rest[0].is_reply and not rest[-1].is_reply:
        rest.reverse()
    # What stands above all headers is a title, or the answer to the rest.
    is_title = bool(above) and is_heading(above[0].lines)
    return [*above, *rest] if is_title else [*rest, *above]


def _parts(mail: _Mail, depth: int = 0) -> Iterator[_Part]:
    """What a mail says and what it quotes, in the order of time."""
    parts: list[_Part] = []
    author = ""
    runs = groupby(mail.lines, lambda line: depth < _DEEPEST and line.lstrip().startswith(">"))
    for is_quoted, run in runs:
        lines = list(run)
        if is_quoted:
            inner = _mails([line.lstrip()[1:].removeprefix(" ") for line in lines])
            for older in _in_order(inner):
                known = older if older.sender else older._replace(sender=author)
                parts += _parts(known, depth + 1)
            continue
        filled = [n for n, line in enumerate(lines) if line.strip()]
        for number in filled[-2:]:
            if opening := _attribution(lines, number):
                author, lines = opening[0].sender, lines[:number]
                break
        if any(line.strip() for line in lines):
            parts.append((mail.sender, lines, depth > 0))
    if [n for n, part in enumerate(parts) if part[0] == mail.sender] == [0]:
        # The answer stands above what it answers.
        parts.append(parts.pop(0))
    yield from parts


def _name_and_address(sender: str) -> tuple[str, str]:
    """The name to show and the address; each is the other where one lacks."""
    match = _ADDRESS.fullmatch(sender)
    address = match["address"].lower() if match else sender.lower() if "@" in sender else ""
    name = (match["name"] if match else sender).strip(" \"'")
    return name or address, address


def _seconds(date: str) -> float | None:
    """The moment that a header or an attribution names."""
    half = re.search(r"(\d)\s?([AP])M\b", date.replace("\u202f", " "), re.IGNORECASE)
    clock = re.sub(
        r"\s?\b[AP]M\b|(?<=\d)[AP]M\b|\bat\b|\bum\b|\bà\b", " ", date, flags=re.IGNORECASE
    )
    parsed = parsedate_tz(" ".join(clock.strip(" ,").split()))
    if parsed is None:
        return None
    seconds = float(mktime_tz(parsed))
    if half:
        seconds += 43_200 * ((half[2] in "Pp") - (parsed[3] == 12))
    return seconds


def _squeezed(lines: Iterable[str]) -> str:
    return " ".join(word for line in lines for word in line.replace(">", " ").split())
