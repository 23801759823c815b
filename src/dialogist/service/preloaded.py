"""What every work process has from its start: the server that it is forked from loads this module.

So the first request waits for nothing, and a package that is replaced under a running service is
read no more.
"""

from dialogist.forms.form_file import bundled_forms
from dialogist.records import Dialogue, SummaryOptions
from dialogist.summarizer import Summarizer

_TALK = "Ann: Can you send the report by Friday?\nBo: Yes, I will call you at 555 010 0199."


def load_all() -> None:
    """Have everything loaded that a summary may need."""
    options = SummaryOptions(mask="input", mask_names="all")
    for form in (None, *bundled_forms()):
        Summarizer(form=form).result(Dialogue.from_text(_TALK), options)


load_all()
