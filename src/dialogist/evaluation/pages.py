"""Self-contained HTML pages: Jinja2 with escaping on, style and script inside.

A page's Content-Security-Policy allows the scripts that stand in it, by their hash, and no request
at all: the browser itself sees to it that nothing is loaded and nothing leaves.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from dialogist.errors import needs_extra
from dialogist.records import JSON

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_ASSETS = "assets/templates"


def displayable(text: str) -> str:
    """What HTML cannot hold (control characters, halves of pairs) as U+FFFD."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if _is_refused(c) else c for c in text)


def page_templates(feature: str, show: Callable[[str], str] = displayable) -> "Environment":
    """Templates of the package; every value put into them is escaped unless marked as safe.

    ``show`` is what is done to values before.

    Raises:
        MissingExtraError: jinja2 is not installed (``feature`` is what needs it).
    """
    with needs_extra(feature, "eval"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: show(value) if type(value) is str else value,
    )


def asset(name: str) -> str:
    """The text of a file among the templates."""
    return resources.files("dialogist").joinpath(_ASSETS, name).read_text(encoding="utf-8")


def trusted(text: str) -> "Markup":
    """Text that is HTML, style or script of ours: it is not escaped."""
    from markupsafe import Markup

    return Markup(text)


def _is_refused(character: str) -> bool:
    code = ord(character)
    if code < 0xA0:
        return character not in "\t\n\r" and (code < 0x20 or code >= 0x7F)
    return 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE


def script_data(value: JSON) -> "Markup":
    """JSON that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return trusted(text)


def content_policy(script: str = "", style: str = "'unsafe-inline'") -> str:
    """A Content-Security-Policy that allows this script alone, and no request to anywhere."""
    allowed = f"script-src {source_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src {style}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def people_page(
    name: str, styles: Sequence[str], page: Mapping[str, JSON], **values: object
) -> str:
    """A page NAME.html.j2 that people work on: it keeps what they did under the hash of its data.

    ``page``: the data, for NAME.js; ``styles``: names of style sheets.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    style = "".join(asset(f"{one}.css") for one in ("style", *styles))
    script = asset("people.js") + asset(f"{name}.js")
    known = hashlib.sha256(json.dumps(page).encode()).hexdigest()[:16]
    template = page_templates(f"the page {name}").get_template(f"{name}.html.j2")
    return template.render(
        policy=content_policy(script, source_hash(style)),
        style=trusted(style),
        script=trusted(script),
        page=script_data({"page": known, **page}),
        **values,
    )


def source_hash(text: str) -> str:
    """How a policy names a script or style that stands in the page."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
