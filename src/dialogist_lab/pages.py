"""Self-contained HTML pages: Jinja2 with escaping on, style and script inside.

A page's Content-Security-Policy allows the script that stands in it, by its hash, and no request
at all: the browser itself sees to it that nothing is loaded and nothing leaves.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dialogist.records import JSON


def displayable(text: str) -> str:
    """What HTML cannot hold (control characters, halves of pairs) as U+FFFD."""
    return text if text.isprintable() else "".join("\ufffd" if _is_refused(c) else c for c in text)


def _is_refused(character: str) -> bool:
    code = ord(character)
    if code < 0xA0:
        return character not in "\t\n\r" and (code < 0x20 or code >= 0x7F)
    return 0xD800 <= code <= 0xDFFF or code & 0xFFFE == 0xFFFE


def asset(name: str) -> str:
    """The text of a template, style or script of the pages."""
    place = resources.files("dialogist_lab") / "assets" / "pages" / name
    return place.read_text(encoding="utf-8")


def page_templates() -> Environment:
    """The templates; every value put into them is escaped unless it is `Markup`."""
    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: displayable(value) if type(value) is str else value,
    )


def script_data(value: JSON) -> Markup:
    """JSON that can stand in a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def content_policy(script: str = "") -> str:
    """A Content-Security-Policy that allows this script alone, and no request to anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    return (
        f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def people_page(name: str, data: Mapping[str, JSON], **values: object) -> str:
    """The page NAME.html.j2 on which people work: it keeps what they did under its data's hash.

    ``data``: the page's, for NAME.js; ``values``: the template's.
    """
    script = asset("people.js") + asset(f"{name}.js")
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    return (
        page_templates()
        .get_template(f"{name}.html.j2")
        .render(
            policy=content_policy(script),
            style=Markup(asset("style.css") + asset("people.css")),
            script=Markup(script),
            page=script_data({"page": digest, **data}),
            **values,
        )
    )
