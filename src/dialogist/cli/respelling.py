"""Old spellings of flags, kept for one release: each works as before, with a note on stderr.

--output FORM, -o FORM     now --format FORM; --output names a file
--json                     now --format json
--format NAME, -f NAME     now --input-format NAME, where NAME is no form of output
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dialogist.data.readers import READERS

_OUTPUT_WAS_A_FORM = frozenset(
    {"summarize", "mask", "evaluate", "compare", "ablate", "keypoints label", "rate report"}
)
INPUTS = frozenset(READERS) | {"auto"}


def respelled(root: Any, words: Sequence[str], note: Callable[[str], None]) -> list[str]:
    """Return the words of a call in today's spelling; ``note`` hears of each change.

    ``root`` is the click command of the whole command line.
    """
    command, name, start = _command(root, words)
    options = {flag: option for option in command.params for flag in option.opts}
    today = list(words[:start])
    for flag, value in _pairs(words[start:], _with_values(options)):
        changed = _today(name, options, flag, value)
        if changed is not None:
            old = flag if value is None else f"{flag} {value}"
            note(f"{old} is now written {' '.join(changed)}{_file(flag, value)}")
        today += changed or ([flag] if value is None else [flag, value])
    return today


def _command(root: Any, words: Sequence[str]) -> tuple[Any, str, int]:
    """The command that is called, its name, and where its own words begin."""
    command = root
    names: list[str] = []
    for position, word in enumerate(words):
        below = getattr(command, "commands", None)
        if below is None:
            return command, " ".join(names), position
        if word in below:
            command = below[word]
            names.append(word)
    return command, " ".join(names), len(words)


def _with_values(options: dict[str, Any]) -> frozenset[str]:
    """The flags that a value follows; --format was one of every command that reads files."""
    given = {flag for flag, option in options.items() if not getattr(option, "is_flag", True)}
    return frozenset({*given, "-f", "--format"})


def _pairs(words: Sequence[str], with_values: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Every word, a flag with its value; nothing behind ``--`` is a flag."""
    position = 0
    while position < len(words):
        word, position = words[position], position + 1
        if word == "--":
            yield from ((left, None) for left in words[position - 1 :])
            return
        flag, equals, value = word.partition("=")
        if equals and flag in with_values and flag.startswith("--"):
            yield flag, value
        elif word in with_values and position < len(words):
            yield word, words[position]
            position += 1
        elif word[:2] in with_values & {"-o", "-f"} and len(word) > 2:
            yield word[:2], word[2:]
        else:
            yield word, None


def _today(name: str, options: dict[str, Any], flag: str, value: str | None) -> list[str] | None:
    """Today's spelling of one flag; None: it is the same."""
    forms = choices_of(options.get("--format"))
    if value is None:
        is_json = flag == "--json" and flag not in options and "json" in forms
        return ["--format", "json"] if is_json else None
    if flag in ("-o", "--output") and name in _OUTPUT_WAS_A_FORM and value in forms:
        return ["--format", value]
    is_input = value in INPUTS and value not in forms
    if flag in ("-f", "--format") and is_input and "--input-format" in options:
        return ["--input-format", value]
    return None


def choices_of(option: Any) -> list[str]:
    """Return the values that an option can take; none if it has no choice of them."""
    for holder in ("type_descriptor", "type"):  # typer's own, and click's in older versions
        choices = getattr(getattr(option, holder, None), "choices", None)
        if choices:
            return [str(getattr(choice, "value", choice)) for choice in choices]
    return []


def _file(flag: str, value: str | None) -> str:
    if flag in ("-o", "--output"):
        return f" (--output names a file; one that is called so is ./{value})"
    return ""
