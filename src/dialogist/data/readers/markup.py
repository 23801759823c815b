"""HTML bodies of messages as plain text: tags out, entities decoded, quoted replies left out.

Help desks store what people write as HTML. Only text that clearly is HTML is touched: ``a < b``
and a tag that somebody writes about stay as they are.
"""

import html
import re
from collections.abc import Iterator

_TAGS = "a|b|blockquote|br|code|div|em|font|h[1-6]|html|body|i|img|li|ol|p|pre|span|strong|table"
_TAGS += "|tbody|td|th|tr|u|ul|s|section|article"
_FIRST = re.compile(rf"\s*<(?:!doctype|!--|(?:{_TAGS})(?:\s[^<>]*)?/?>)", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|span|strong|a|b|em|i|td|h[1-6])\s*>", re.IGNORECASE)
_DROPPED = frozenset({"script", "style", "head", "title", "template", "noscript", "svg"})
_BLOCKS = frozenset(
    (
        *("p", "div", "br", "li", "tr", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol"),
        *("table", "blockquote", "pre", "section", "article", "header", "footer"),
    )
)
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"))
_QUOTES = ("gmail_quote", "yahoo_quoted", "zendesk_quoted", "moz-cite-prefix", "protonmail_quote")
_QUOTE_IDS = ("divrplyfwdmsg", "appendonsend")
_LONGEST = 1 << 20
_TOKEN = re.compile(
    r"""<(?:(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+)?/?"""
    r"""|![^<>]*|\?[^<>]*)>"""
)
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->", re.DOTALL)
_ATTRIBUTE = re.compile(r"""(?P<key>[\w-]+)\s*=\s*(?P<value>"[^"]*"|'[^']*'|[^\s"'>]+)""")
# "On Mon, 3 May 2024 at 10:00, Ann <ann@x> wrote:" and then nothing but quoted lines.
_ATTRIBUTION = re.compile(
    r"\n[^\n]{0,20}(?:On|Am|Le|El)\b[^\n]{5,150}(?:wrote|schrieb|écrit|escribió)[^\n]{0,60}:"
    r"[ \t]*\n"
    r"(?:[ \t]*(?:>[^\n]*)?(?:\n|\Z))+\Z"
)


def is_html(text: str) -> bool:
    """Whether a text is HTML: it begins with a usual tag, or has a closing one or a line break."""
    return "<" in text and len(text) <= _LONGEST and bool(_FIRST.match(text) or _BREAK.search(text))


def plain_text(text: str) -> str:
    """The text of a message, without markup where it is HTML."""
    return from_html(text) if is_html(text) else text


def message_text(text: str) -> str:
    """The text of a help desk's message, without markup and without the mail it replies to."""
    plain = plain_text(text)
    reply = _ATTRIBUTION.search(f"\n{plain}")
    own = plain[: max(0, reply.start() - 1)].strip() if reply else ""
    return own or plain


def from_html(text: str) -> str:
    """The text of HTML, a line for each block."""
    lines = (" ".join(line.split()) for line in "".join(_pieces(text)).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _pieces(text: str) -> Iterator[str]:
    """The pieces of text that people read, and a line end for every block.

    The parser of the standard library takes quadratic time for tags that never end.
    """
    text = _COMMENT.sub("", text) if "-->" in text else text
    skipped, depth, position = "", 0, 0  # the element that is left out, how often it is open
    for tag in _TOKEN.finditer(text):
        if not skipped:
            yield html.unescape(text[position : tag.start()])
        position = tag.end()
        name, closes = (tag["name"] or "").lower(), bool(tag["close"])
        if skipped:
            if name == skipped:
                depth += -1 if closes else 1
            skipped = skipped if depth else ""
        elif not closes and name not in _VOID and (name in _DROPPED or _is_quote(name, tag)):
            skipped, depth = name, 1
        elif name in _BLOCKS:
            yield "\n"
    if not skipped:
        yield html.unescape(text[position:])


def _is_quote(name: str, tag: re.Match[str]) -> bool:
    """Whether an element is the mail that this one replies to, as mail programs mark it."""
    given = {m["key"].lower(): m["value"].strip("\"'").lower() for m in _ATTRIBUTE.finditer(tag[0])}
    if name == "blockquote":
        return given.get("type") == "cite" or "gmail_quote" in given.get("class", "")
    marks = given.get("class", "").split()
    return any(mark in _QUOTES for mark in marks) or given.get("id", "") in _QUOTE_IDS
