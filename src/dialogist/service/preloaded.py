"""What the service and its work processes have loaded from their start.

So the first request waits for nothing, and a package that is replaced under a running service is
read no more.
"""

from importlib import import_module, resources
from pkgutil import iter_modules

import dialogist.formats
import dialogist.privacy
from dialogist.formats.moments import format_table
from dialogist.forms.form_file import bundled_forms
from dialogist.language.detection import language_of
from dialogist.records import Dialogue, SummaryOptions
from dialogist.summarizer import Summarizer

_TALK = "Ann: Can you send the report by Friday?\nBo: Yes, I will call you at 555 010 0199."

_FOREIGN = "Wir rufen morgen wieder an, vielen Dank."  # told by n-grams, half a second to load


def load_all() -> None:
    """Have everything loaded that a summary may need."""
    for package in (dialogist.formats, dialogist.privacy):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    language_of(_FOREIGN)
    tables = resources.files("dialogist") / "assets" / "formats"
    for file in tables.iterdir():
        format_table(file.name.removesuffix(".yaml"))
    for options in (
        SummaryOptions(mask="input", mask_names="all"),
        SummaryOptions(perspective="role", focus="Ann"),
    ):
        for form in (None, *bundled_forms()):
            Summarizer(form=form).result(Dialogue.from_text(_TALK), options)


load_all()
