"""Writes the JSON Schemas of a checkout: `python -m phasekeeper.server.generate_schemas`."""

from __future__ import annotations

import json
from pathlib import Path

from ..orchestration.definition.schema import config_schema, json_schema
from ..orchestration.result.json_schema import evaluation_schema

FOLDER = Path(__file__).parents[1] / "orchestration" / "schemas"


def schemas() -> dict[str, str]:
    """File name to text of each schema."""
    contents = {
        "config.schema.json": config_schema(),
        "definition.schema.json": json_schema(),
        "evaluation.schema.json": evaluation_schema(),
    }
    return {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in contents.items()
    }


def main(folder: Path = FOLDER) -> None:
    """Write all schemas into a folder."""
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
