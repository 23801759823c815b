"""The JSON Schema of a summary as ``dialogist summarize --format json`` writes it.

python -m bench.summary_schema > src/dialogist/assets/summary.schema.json
"""

import json

from pydantic import TypeAdapter

from dialogist.records import JSON, SCHEMA_VERSION, Summary


def summary_schema() -> dict[str, JSON]:
    """JSON Schema, draft 2020-12; the package holds it as assets/summary.schema.json."""
    schema: dict[str, JSON] = TypeAdapter(Summary).json_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    version: dict[str, JSON] = {"const": SCHEMA_VERSION, "title": "Schema Version"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "properties": {"schema_version": version, **properties},
        "required": ["schema_version", *(name for name in properties if name != "reading")],
    }


if __name__ == "__main__":
    print(json.dumps(summary_schema(), ensure_ascii=False, indent=2))
