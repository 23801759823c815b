"""A filled template as JSON: every key is always there, docs/templates.md describes each."""

from dataclasses import asdict

from dialogist.template.filled import Filled

TEMPLATE_SCHEMA_VERSION = 2


def filled_to_json(filled: Filled) -> dict[str, object]:
    """Plain values for `json.dumps`; utterances are numbered from 0, as in a summary."""
    values = asdict(filled)
    for section, plain in zip(filled.sections, values["sections"], strict=True):
        plain["empty"] = section.empty
    return {"schema_version": TEMPLATE_SCHEMA_VERSION, **values, "missing": list(filled.missing)}
