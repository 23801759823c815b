"""``dialogist forms``: list, show and check the forms that summaries can be put into."""

from typing import Annotated

import typer

from dialogist.cli.console import note
from dialogist.cli.flags import FactsForm, OutputFile
from dialogist.cli.streams import write_facts
from dialogist.errors import ConfigError
from dialogist.language.tokens import counted

app = typer.Typer(
    help="List, show and check forms that summaries can be put into.", no_args_is_help=True
)


@app.command("list")
def list_forms(output: OutputFile = None, format: FactsForm = None) -> int:
    """List the forms that come with Dialogist."""
    from dialogist.forms.form_file import bundled_forms, load_form

    forms = [load_form(path) for path in bundled_forms().values()]
    lines = []
    for form in forms:
        about = form.about or ", ".join(section.title for section in form.sections)
        lines.append(f"{form.name:10} {form.language}, version {form.version}: {about}")
    write_facts([form.model_dump(mode="json") for form in forms], lines, output, format)
    return 0


@app.command("show")
def show_form(form: Annotated[str, typer.Argument(help="A form's name or YAML file.")]) -> int:
    """Print a form's YAML: save it as a file and change it."""
    from dialogist.forms.form_file import parse_form, read_form

    text, source = read_form(form)
    parse_form(text, source)
    typer.echo(text, nl=not text.endswith("\n"))
    return 0


@app.command("check")
def check_forms(
    forms: Annotated[list[str], typer.Argument(help="Forms: names or YAML files.")],
) -> int:
    """Read forms, and name the line of a mistake. Exit code 2 if one is at fault."""
    from dialogist.forms.form_file import load_form

    faults: list[ConfigError] = []
    for name in forms:
        try:
            form = load_form(name)
        except ConfigError as fault:
            faults.append(fault)
            note(str(fault))
            continue
        sections = counted(len(form.sections), "sections")
        typer.echo(f"{name}: {form.name} {form.version}, {sections}")
    return faults[0].exit_code if faults else 0
