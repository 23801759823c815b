"""One line about a call that the command line cannot parse, in place of a page of usage."""

import re
from typing import Any

from dialogist.cli.respelling import INPUTS, choices_of
from dialogist.errors import nearest

_REFUSED = re.compile(r"'(?P<value>[^']*)' is not one of")


def wrong_call(error: Any) -> str:
    """Return what is wrong with a call, the nearest valid value, and where the help is.

    ``error`` is a usage error of click.
    """
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    where = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{message}{_nearest(message, getattr(error, 'param', None))}{where}"


def _nearest(message: str, option: Any) -> str:
    found = _REFUSED.search(message)
    if found is None:
        return ""
    near = nearest(found["value"], choices_of(option))
    if near or "--format" not in option.opts:
        return near
    return nearest(found["value"], INPUTS).replace("mean '", "mean --input-format '")
