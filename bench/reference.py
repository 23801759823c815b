"""Write the reference part of the documentation from the code.

    python bench/reference.py [FOLDER]

One page each for the command line, configuration, the JSON of a summary, the Python API, the HTTP
API, errors, formats, recipes, and metrics. ``make docs`` runs it before it builds the site. The
pages are not committed: what is made at each build cannot be out of date, and branches do not
conflict in it.
"""

import enum
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import typer.main
import yaml
from pydantic.fields import FieldInfo

import dialogist
from dialogist import errors, records
from dialogist.cli.main import COMMANDS, command_line
from dialogist.config import Config
from dialogist.formats import fields
from dialogist.formats.readers import READERS
from dialogist.forms import form_file
from dialogist.forms.form_file import Form
from dialogist.forms.key_points import PackConfig
from dialogist.privacy.packs import PrivacyPackConfig
from dialogist.service.settings import Settings
from dialogist.writers.endpoint import EndpointConfig
from dialogist_lab.evaluation.report_card import make_metrics
from dialogist_lab.recipe import Recipe, bundled_recipes

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "generated"
ROOTS: tuple[type[Config], ...] = (
    *(Recipe, Settings, EndpointConfig, Form, PackConfig, PrivacyPackConfig),
)
MADE = "<!-- Generated from the code by bench/reference.py; do not edit. -->\n"


def main(folder: Path = FOLDER) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in pages():
        text = "\n".join(lines).rstrip() + "\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def pages() -> Iterator[tuple[str, Iterable[str]]]:
    """Name and lines of each page."""
    yield "command-line", commands()
    yield "configuration", configuration()
    yield "summary-json", summary_json()
    yield "python", python_api()
    yield "http", http_api()
    yield "errors", error_codes()
    yield "formats", formats()
    yield "recipes", recipes()
    yield "metrics", metrics()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table; a cell's line breaks and bars are written so that they do no harm."""
    yield ""
    for row in (head, ["---"] * len(head), *rows):
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def plain(text: str | None) -> str:
    """A docstring as Markdown: its code marks are single, and its ``Raises`` is a list."""
    text = inspect.cleandoc(text or "").replace("``", "`").replace("Example:\n", "Example:\n\n")
    head, mark, raised = text.partition("Raises:\n")
    items = re.sub(r"^ {4}(?=\S)", "* ", raised, flags=re.M)
    return f"{head}Raises:\n\n{items}" if mark else head


def code(value: object) -> str:
    return f"`{value}`" if value not in ("", None) else ""


def choices(module: ModuleType, alias: str) -> list[tuple[str, str]]:
    """The values of a literal type, and their meanings: the comments beside them."""
    body = inspect.getsource(module).partition(f"\n{alias}: TypeAlias = Literal[\n")[2]
    found = re.findall(r'^ +"([\w-]+)",  # (.+)$', body.partition("\n]")[0], re.M)
    values = typing.get_args(getattr(module, alias))
    assert [value for value, _ in found] == list(values), f"{alias}: a value without a comment"
    return [(code(value), meaning[0].upper() + meaning[1:]) for value, meaning in found]


def keyed(doc: str, names: Iterable[str]) -> tuple[str, dict[str, str]]:
    """A docstring without its items such as "`beam_size`: hypotheses.", and these by key."""
    lead, *items = re.split(r"(?:^|(?<=\s))((?:`\w+`(?:,\s+|\s+and\s+)?)+):\s", doc)
    meanings: dict[str, str] = {}
    for heads, meaning in zip(items[::2], items[1::2], strict=True):
        keys = re.findall(r"`(\w+)`", heads)
        if set(keys) <= set(names):
            meanings |= dict.fromkeys(keys, meaning[:1].upper() + meaning[1:])
        elif meanings:  # a value of the key before
            last = list(meanings)[-1]
            meanings[last] += f"{heads}: {meaning}"
        else:
            lead += f"{heads}: {meaning}"
    return lead.strip(), meanings


# The command line.


def commands() -> Iterator[str]:
    """Every command with all its options, that of the laboratory behind those of the tool."""
    yield from ("# The command line", "", MADE)
    yield "Every command has `--help`. Rules that hold for all commands are in"
    yield "[conventions of the command line](../command-line.md)."
    root: Any = typer.main.get_command(command_line())
    own = dict.fromkeys(name.partition(".")[0] for name in COMMANDS)
    listed = [*own, *(name for name in root.commands if name not in own)]
    rows = [
        (f"[`{n}`](#dialogist-{n})", (root.commands[n].help or "").partition("\n\n")[0])
        for n in listed
    ]
    yield from table(("command", "what it does"), rows)
    for name in listed:
        yield from command(root.commands[name], f"dialogist {name}")


def command(one: Any, path: str) -> Iterator[str]:
    yield from ("", f"## {path}", "", plain(one.help), "")
    inner = getattr(one, "commands", {})
    if inner:
        for name, sub in inner.items():
            yield from command(sub, f"{path} {name}")
        return
    arguments = [p for p in one.params if p.param_type_name == "argument"]
    given = " ".join(p.name.upper() + ("..." if p.nargs < 0 else "") for p in arguments)
    yield from ("```text", " ".join(f"{path} [OPTIONS] {given}".split()), "```")
    if arguments:
        rows = [(code(p.name), text_of(p)) for p in arguments]
        yield from table(("argument", "meaning"), rows)
    options = [p for p in one.params if p.param_type_name == "option" and not p.hidden]
    rows = [(", ".join(map(code, (*p.opts, *p.secondary_opts))), text_of(p)) for p in options]
    if rows:
        yield from table(("option", "meaning"), rows)
    examples = [line for line in (one.epilog or "").split("\n\n") if line.startswith("dialogist")]
    if examples:
        yield from ("```console", *(f"$ {line}" for line in examples), "```")


def text_of(parameter: Any) -> str:
    """What a parameter means, its choices, default and environment variable."""
    text = plain(getattr(parameter, "help", None))
    if values := choices_of(parameter):
        text += f" One of: {', '.join(map(code, values))}."
    default = parameter.default
    default = default.value if isinstance(default, enum.Enum) else default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        text += f" Default: `{default}`."
    if getattr(parameter, "envvar", None):
        text += f" Environment: `{parameter.envvar}`."
    return text


def choices_of(option: Any) -> list[str]:
    """The values that an option can take; none if it has no choice of them."""
    for holder in ("type_descriptor", "type"):  # typer's own, and click's in older versions
        values = getattr(getattr(option, holder, None), "choices", None)
        if values:
            return [str(getattr(value, "value", value)) for value in values]
    return []


# Configuration.


def configuration() -> Iterator[str]:
    """Every configuration class that a file or flag can set, from its pydantic model."""
    yield from ("# Configuration", "", MADE)
    yield "The keys of recipes, options, settings and packs. Unknown keys are errors. In a recipe,"
    yield "`--set training.epochs=4` sets the key `epochs` of `TrainingConfig`, which stands under"
    yield "the key `training`."
    todo: list[type[Config]] = list(ROOTS)
    done: list[type[Config]] = []
    while todo:
        model = todo.pop(0)
        if model in done:
            continue
        done.append(model)
        inner = [c for f in model.model_fields.values() for c in configs(f.annotation)]
        todo = [c for c in inner if c not in done] + todo
        lead, meanings = keyed(plain(model.__doc__), model.model_fields)
        for base in model.__mro__[1:]:
            meanings = keyed(plain(base.__doc__), model.model_fields)[1] | meanings
        meanings.setdefault("kind", "Tells the classes that fit its place apart.")
        untold = [name for name in model.model_fields if not meanings.get(name)]
        assert not untold, f"{model.__name__}: no meaning in the docstring of {untold}"
        yield from ("", f"## {model.__name__}", "", lead, "")
        rows = [
            (
                *(code(name), meanings[name], type_name(field.annotation)),
                *(default_of(field), limits(field)),
            )
            for name, field in model.model_fields.items()
        ]
        yield from table(("key", "meaning", "type", "default", "limits"), rows)
        if model is form_file.FormSection:
            yield from ("", "### Sources of a section", "")
            yield "Those from `issue` to `questions` read the dialogue."
            yield from table(("source", "entries"), choices(form_file, "FieldSource"))


def configs(annotation: Any) -> list[type[Config]]:
    """The configuration classes within an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return [annotation]
    return [found for part in typing.get_args(annotation) for found in configs(part)]


def type_name(annotation: Any) -> str:
    """An annotation in a few words; configuration classes are links."""
    if annotation is type(None):
        return "none"
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if not arguments or annotation is Any:
        return getattr(annotation, "__name__", str(annotation))
    if origin is typing.Literal:
        return " or ".join(code(value) for value in arguments)
    if origin is typing.Annotated or origin is None:
        return type_name(arguments[0])
    inner = [type_name(one) for one in arguments if one is not Ellipsis]
    if origin in (list, tuple, dict):
        return f"{origin.__name__} of {', '.join(dict.fromkeys(inner))}"
    return " or ".join(inner)


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return (
        type(value).__name__ if isinstance(value, Config) else code(json.dumps(value, default=str))
    )


def limits(field: FieldInfo) -> str:
    names = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds = (
        f"{word} {getattr(one, key)}"
        for one in field.metadata
        for key, word in names.items()
        if getattr(one, key, None) is not None
    )
    return ", ".join(bounds)


# The JSON of a summary, and of requests.


def summary_json() -> Iterator[str]:
    """The record of a summary, from its JSON Schema."""
    text = (resources.files("dialogist") / "assets" / "summary.schema.json").read_text("utf-8")
    schema = json.loads(text)
    yield from ("# The JSON of a summary", "", MADE)
    yield "What the fields mean in use is in [what a summary says of itself](../summary.md)."
    yield from schema_objects({"Summary": schema, **schema["$defs"]})
    yield from ("", "## Values of `status`", "")
    yield from table(("status", "when"), choices(records, "Status"))
    yield from ("", "## Values of `verdict`", "")
    yield from table(("verdict", "meaning"), choices(records, "Verdict"))
    yield from ("", "## Values of `kind` of a warning", "")
    yield from table(("kind", "meaning"), choices(records, "WarningKind"))


def schema_objects(objects: dict[str, Any]) -> Iterator[str]:
    for name, schema in objects.items():
        if "properties" not in schema:
            continue
        yield from ("", f"## {name}", "", plain(schema.get("description")), "")
        needed = schema.get("required", ())
        rows = [
            (
                code(key),
                schema_type(value),
                "yes" if key in needed else "",
                value.get("description", ""),
            )
            for key, value in schema["properties"].items()
        ]
        yield from table(("field", "type", "always there", "meaning"), rows)


def schema_type(value: dict[str, Any]) -> str:
    """The type of a JSON value; objects are links."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(schema_type(one) for one in value["anyOf"])
    if "enum" in value:
        return " or ".join(map(code, value["enum"]))
    if "const" in value:
        return code(value["const"])
    if names := value.get("propertyNames", {}).get("enum"):
        return f"object of {', '.join(map(code, names))}"
    if value.get("type") == "array":
        return f"array of {schema_type(value.get('items', {}))}"
    return str(value.get("type", "any"))


def http_api() -> Iterator[str]:
    """The routes, their bodies and the codes of their refusals, from OpenAPI."""
    from dialogist.service.api import description

    described = description()
    yield from ("# The HTTP API", "", MADE)
    yield "How to run the service is in [deploy](../../how-to/deploy.md). `GET /openapi.json` gives"
    yield "the same as OpenAPI."
    rows = [
        (f"`{method.upper()} {path}`", about.get("summary", ""), plain(about.get("description")))
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    yield from table(("route", "name", "what it does"), rows)
    names = ("Dialogue", "Options", "Feedback", "Pair", "Problem")
    schemas = described["components"]["schemas"]
    yield "A reply with a summary is [this object](summary-json.md#summary)."
    yield from schema_objects({name: schemas[name] for name in names if name in schemas})


# Python.


def python_api() -> Iterator[str]:
    """Every public name of the package; mkdocstrings puts its docstring there in the build."""
    yield from ("# Python API", "")
    yield "These names are imported from `dialogist`. Everything else in the package may change."
    yield "Examples are in [from Python](../summary.md#from-python)."
    for name in sorted(set(dialogist.__all__) - {"__version__"}):
        yield from ("", f"::: dialogist.{name}")


# Errors, formats, metrics.


def error_codes() -> Iterator[str]:
    """Exit codes by exception, problem codes by HTTP status."""
    from dialogist.service.problems import CODES

    yield from ("# Errors", "", MADE)
    yield "What to do about them is in [conventions of the command line](../command-line.md)"
    yield "and in [deploy](../../how-to/deploy.md)."
    yield from ("", "## Exceptions and exit codes", "")
    found = [errors.DialogistError]
    for one in found:
        found.extend(one.__subclasses__())
    ours = [one for one in found if one.__module__ == errors.__name__]
    rows = [(code(one.__name__), str(one.exit_code), plain(one.__doc__)) for one in ours]
    yield from table(("exception", "exit code", "meaning"), rows)
    yield from ("", "## Problems of the service", "")
    rows = [(code(key), str(status), title) for key, (status, title) in CODES.items()]
    yield from table(("code", "HTTP status", "meaning"), rows)


def formats() -> Iterator[str]:
    """Formats in the order in which they are tried, and the names of columns and keys."""
    yield from ("# Formats and column names", "", MADE)
    yield "How to use them is in [input formats](../formats.md)."
    yield from ("", "## Formats", "")
    rows = [
        (
            code(name),
            plain(one.doc),
            ", ".join(map(code, one.extensions)),
            "yes" if one.has_fields else "",
        )
        for name, one in READERS.items()
    ]
    yield from table(("`--input-format`", "what it is", "endings", "`--where`"), rows)
    yield from ("", "## Names of columns and keys", "")
    names = {
        "id of the dialogue": fields.ID_KEYS,
        "speaker": fields.SPEAKER_KEYS,
        "text of a message": fields.UTTERANCE_KEYS,
        "role": fields.ROLE_KEYS,
        "time": fields.TIME_KEYS,
        "whole dialogue as text": fields.DIALOGUE_TEXT_KEYS,
        "list of turns": fields.TURN_KEYS,
        "summary": fields.SUMMARY_KEYS,
    }
    rows = [(what, ", ".join(map(code, keys))) for what, keys in names.items()]
    yield from table(("what", "names, in this order"), rows)


def recipes() -> Iterator[str]:
    """The bundled recipes and the licence of what they train."""
    yield from ("# Bundled recipes", "", MADE)
    yield "How to train them is in [reproduce a paper](../../how-to/reproduce-a-paper.md)."
    found = {name: yaml.safe_load(file.read_text()) for name, file in bundled_recipes().items()}
    rows = [
        (code(name), one.get("description", ""), one.get("licence", ""))
        for name, one in found.items()
    ]
    yield from table(("recipe", "what it trains", "licence of the weights"), rows)


def metrics() -> Iterator[str]:
    """Every column of every metric that needs no other file."""
    yield from ("# Metrics", "", MADE)
    yield "What they are worth is in [metrics that mislead](../../explanation/metrics.md)."
    yield "`bertscore` needs an encoder, `meteor` needs WordNet, and `key-points` needs a pack."
    for name in ("rouge", "bleu", "faithfulness", "copying", "order"):
        [metric] = make_metrics(name, [], None, None, print)
        about = plain(type(metric).__doc__).partition("Raises:")[0]
        yield from ("", f"## {name}", "", about.strip(), "", f"Signature: `{metric.signature}`")
        rows = [(code(c.key), c.title, c.better, c.unit) for c in metric.columns]
        yield from table(("key", "title", "better", "unit"), rows)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
