"""Write the reference part of the documentation from the code.

    python bench/reference.py

``make docs`` runs it before it builds the site. The pages are not committed: what is made at each
build cannot be out of date.
"""

import importlib
import inspect
import json
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import typer.main
from pydantic import BaseModel

import dialogist
from dialogist import errors, records
from dialogist.cli import main as cli
from dialogist.formats import fields
from dialogist.formats.json_records import programs
from dialogist.formats.readers import all_readers
from dialogist.forms import form_file
from dialogist.forms.key_points import PackConfig
from dialogist.privacy.packs import PrivacyPackConfig
from dialogist.service.api import description
from dialogist.service.problems import CODES
from dialogist.service.settings import Settings
from dialogist.writers.chat import ChatConfig
from dialogist_lab.evaluation.report_card import make_metrics
from dialogist_lab.evaluation.systems import PREDICTION_KEYS
from dialogist_lab.models.generator import MODELS
from dialogist_lab.recipe import Recipe
from dialogist_lab.training.objective import OBJECTIVES

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "generated"
SCHEMA = resources.files("dialogist") / "assets" / "summary.schema.json"
MADE = "<!-- Generated from the code by bench/reference.py; do not edit. -->"
LIMITS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}


def main(folder: Path = FOLDER) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = (command_line, configuration, summary_json, python, http, errors_page, formats, metrics)
    for page in pages:
        title, *lines = page()
        text = "\n".join((f"# {title}", "", MADE, "", *lines)).rstrip() + "\n"
        name = page.__name__.removesuffix("_page").replace("_", "-")
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A Markdown table; a cell's line breaks and bars are written so that they do no harm."""
    yield ""
    for row in (head, ["---"] * len(head), *rows):
        cells = (" ".join(str(cell).split()).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def plain(text: str | None) -> str:
    """A docstring as Markdown, without its ``Raises``."""
    return inspect.cleandoc(text or "").replace("``", "`").partition("\n\nRaises:")[0]


def codes(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def meanings(module: ModuleType, alias: str) -> Iterator[str]:
    """A table of the values of a literal type, and of the comments beside them."""
    body = re.search(
        rf"^{alias}: TypeAlias = Literal\[(.*?)\n\]", inspect.getsource(module), re.M | re.S
    )
    assert body, alias
    rows = re.findall(r'^ +"([\w-]+)",  # (.+)$', body[1], re.M)
    assert [value for value, _ in rows] == list(typing.get_args(getattr(module, alias))), alias
    return table(("value", "meaning"), ((f"`{value}`", meaning) for value, meaning in rows))


def command_line() -> Iterator[str]:
    """Every command with all its options, those of the laboratory behind those of the tool."""
    yield "The command line"
    yield "[Conventions of the command line](../command-line.md) hold for all commands."
    root: Any = typer.main.get_command(cli.command_line())
    own = dict.fromkeys(name.partition(".")[0] for name in cli.COMMANDS)
    names = [*own, *(n for n, c in root.commands.items() if n not in own and not c.hidden)]
    heads = {name: plain(root.commands[name].help).split("\n\n")[0] for name in names}
    rows = [(f"[`{name}`](#dialogist-{name})", head) for name, head in heads.items()]
    yield from table(("command", "what it does"), rows)
    for name in names:
        yield from command(root.commands[name], f"dialogist {name}")


def command(node: Any, path: str) -> Iterator[str]:
    yield from (f"## {path}", "", plain(node.help), "")
    for name, inner in getattr(node, "commands", {}).items():
        yield from command(inner, f"{path} {name}")
    if hasattr(node, "commands"):
        return
    rows = []
    for parameter in (p for p in node.params if not getattr(p, "hidden", False)):
        is_argument = parameter.param_type_name == "argument"
        spelled = [parameter.name.upper()] if is_argument else parameter.opts
        text = plain(getattr(parameter, "help", None))
        values = getattr(getattr(parameter, "type_descriptor", None), "choices", None) or ()
        text += f" One of: {codes(getattr(v, 'value', v) for v in values)}." if values else ""
        default = getattr(parameter.default, "value", parameter.default)
        is_told = isinstance(default, str | int | float) and default not in ("", True, False)
        text += f" Default: `{default}`." if is_told else ""
        text += f" Environment: `{parameter.envvar}`." if parameter.envvar else ""
        rows.append((codes((*spelled, *parameter.secondary_opts)), text))
    yield from table(("argument or option", "meaning"), rows)


def configuration() -> Iterator[str]:
    """Every configuration class that a file or flag can set."""
    yield "Configuration"
    yield "The keys of recipes, settings, forms and packs. Unknown keys are errors. In a recipe,"
    yield "`--set training.epochs=4` sets the key `epochs` under the key `training`."
    places = (*MODELS.values(), *OBJECTIVES.values())
    kinds = (getattr(importlib.import_module(m), c) for m, c in (p.split(":") for p in places))
    roots = (Recipe, Settings, ChatConfig, form_file.Form, PackConfig, PrivacyPackConfig)
    known: dict[str, Any] = {}
    for model in (*roots, *kinds):
        assert issubclass(model, BaseModel)
        schema = model.model_json_schema(by_alias=False)
        known |= {model.__name__: schema, **schema.pop("$defs", {})}
    yield from objects(known)
    yield "## Sources of a section"
    yield from meanings(form_file, "FieldSource")


def objects(schemas: Mapping[str, Any]) -> Iterator[str]:
    """A section for each JSON Schema of an object."""
    for name, schema in schemas.items():
        if "properties" in schema:
            yield from ("", f"## {name}", "", plain(schema.get("description")))
            needed = schema.get("required", ())
            rows = [
                (f"`{key}`", type_name(value), about(value, key in needed))
                for key, value in schema["properties"].items()
            ]
            yield from table(("key", "type", ""), rows)


def type_name(value: Mapping[str, Any]) -> str:
    """The type of a JSON value; objects are links."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        page = "summary-json.md" if name == "Summary" else ""  # it stands there alone
        return f"[{name}]({page}#{name.lower()})"
    if "const" in value or "enum" in value:
        return " or ".join(f"`{v}`" for v in value.get("enum", [value.get("const")]))
    parts = value.get("anyOf") or value.get("oneOf")
    if parts:
        return " or ".join(map(type_name, parts))
    if value.get("type") == "array":
        return f"array of {type_name(value.get('items', {}))}"
    return str(value.get("type", "any"))


def about(value: Mapping[str, Any], is_needed: bool) -> str:
    """What else is known of a JSON value: meaning, limits, default."""
    parts = [value.get("description", "")]
    parts += [f"{word} {value[key]}" for key, word in LIMITS.items() if key in value]
    if isinstance(value.get("default"), str | int | float) and value["default"] != "":
        parts.append(f"default `{json.dumps(value['default'])}`")
    return "; ".join(part for part in (*parts, "required" if is_needed else "") if part)


def summary_json() -> Iterator[str]:
    yield "The JSON of a summary"
    yield "What the fields mean in use is in [what a summary says of itself](../summary.md)."
    schema = json.loads(SCHEMA.read_text("utf-8"))
    yield from objects({"Summary": schema, **schema["$defs"]})
    for title, alias in (("status", "Status"), ("verdict", "Verdict")):
        yield from (f"## Values of {title}", *meanings(records, alias))


def http() -> Iterator[str]:
    yield "The HTTP API"
    yield "How to run the service is in [deploy](../../how-to/deploy.md). `GET /openapi.json` gives"
    yield "the same as OpenAPI. A summary in a reply is [this object](summary-json.md#summary)."
    routes = (
        (f"`{method.upper()} {path}`", plain(route.get("description")))
        for path, methods in description()["paths"].items()
        for method, route in methods.items()
    )
    yield from table(("route", "what it does"), routes)
    schemas = description()["components"]["schemas"]
    elsewhere = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
    yield from objects({n: s for n, s in schemas.items() if n not in (*elsewhere, "Summary")})


def python() -> Iterator[str]:
    yield "Python API"
    yield "These names are imported from `dialogist`. Everything else in the package may change."
    yield "Examples are in [from Python](../summary.md#from-python)."
    for name in sorted(set(dialogist.__all__) - {"__version__"}):
        yield from ("", f"::: dialogist.{name}")


def errors_page() -> Iterator[str]:
    yield "Errors"
    yield "## Exceptions and exit codes"
    classes = [c for c in vars(errors).values() if isinstance(c, type) and hasattr(c, "exit_code")]
    rows = [(f"`{c.__name__}`", c.exit_code, plain(c.__doc__)) for c in classes]
    yield from table(("exception", "exit code", "meaning"), rows)
    yield "## Problems of the service"
    problems = [(f"`{key}`", status, title) for key, (status, title) in CODES.items()]
    yield from table(("code", "HTTP status", "meaning"), problems)


def formats() -> Iterator[str]:
    yield "Formats and column names"
    yield "How to use them is in [input formats](../formats.md). Formats are tried in this order."
    rows = [(f"`{n}`", plain(r.doc), codes(r.extensions)) for n, r in all_readers().items()]
    yield from table(("`--input-format`", "what it is", "endings"), rows)
    yield "## Names of columns and keys"
    yield "`ticketId`, `TicketID` and `ticket id` are the same as `ticket_id`."
    kinds = ("id", "speaker", "text", "role", "time", "start", "end", "dialogue", "turns")
    kinds += ("summary", "deleted", "replies", "attachments", "people")
    keys = [(kind, codes(fields.KEYS[kind])) for kind in kinds]
    yield from table(("what", "names, in this order"), keys)
    yield "## Notes that no customer sees"
    rows = [(codes(k.split()), codes(v.split())) for k, v in fields.TABLES["internal"].items()]
    yield from table(("key of a turn", "values, in any case"), rows)
    yield "## What is counted, not told"
    rows = [(what, codes(kinds.split())) for what, kinds in fields.TABLES["not_told"].items()]
    yield from table(("counted as", "kinds of items"), rows)
    yield from ("", "## Keys of predictions", "", f"The first of {codes(PREDICTION_KEYS)}.")


def formats_by_ending() -> str:
    """The table of the page of formats: what is read of files with an ending."""
    endings: dict[tuple[str, ...], list[str]] = {}
    for name, reader in all_readers().items():
        if isinstance(reader.parse, str) and name not in programs():  # nor of another package
            endings.setdefault(reader.extensions, []).append(name)
    json = next(names for names in endings.values() if "json" in names)
    json.append(f"[{sum(bool(p.doc) for p in programs().values())} programs](generated/formats.md)")
    rows = [(codes(ending), ", ".join(names)) for ending, names in endings.items()]
    return "\n".join(table(("ending", "formats"), rows)).strip("\n") + "\n"


def metrics() -> Iterator[str]:
    yield "Metrics"
    yield "What they are worth is in [metrics that mislead](../../explanation/metrics.md)."
    yield "`bertscore` needs an encoder, `meteor` needs WordNet, and `key-points` needs a pack."
    for metric in make_metrics("rouge,bleu,faithfulness,copying,order", [], None, None, print):
        yield from ("", f"## {metric.name}", "", plain(type(metric).__doc__), "")
        yield f"Signature: `{metric.signature}`"
        rows = [(f"`{c.key}`", c.title, c.better) for c in metric.columns]
        yield from table(("key", "title", "better"), rows)


if __name__ == "__main__":
    main()
