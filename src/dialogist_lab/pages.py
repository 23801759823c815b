"""Self-contained HTML pages: Jinja2 with escaping on, style and script inside.

The browser itself sees to it that nothing is loaded and nothing leaves.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _displayable(value: Any) -> Any:
    """A text with U+FFFD for what HTML cannot hold: control characters, halves of pairs."""
    return _REFUSED.sub("\ufffd", value) if type(value) is str else value


def asset(name: str) -> str:
    """The text of a template, style or script of the pages."""
    place = resources.files("dialogist_lab") / "assets" / "pages" / name
    return place.read_text(encoding="utf-8")


def html_page(name: str, css: str, script: str = "", **values: object) -> str:
    """The page NAME.html.j2 with this script; every value put into it is escaped, unless `Markup`.

    Its Content-Security-Policy allows the script alone, and no request to anywhere.
    """
    templates = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_displayable,
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    return templates.get_template(f"{name}.html.j2").render(
        policy=f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(asset("style.css") + asset(css)),
        script=Markup(script),
        **values,
    )


def people_page(name: str, data: Mapping[str, Any], **values: object) -> str:
    """The page NAME on which people work: it keeps what they did under the hash of its data."""
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    text = json.dumps({"page": digest, **data}, separators=(",", ":"))
    for mark in "<>&":  # nothing in it ends the script element
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    script = asset("people.js") + asset(f"{name}.js")
    return html_page(name, "people.css", script, page=Markup(text), **values)
