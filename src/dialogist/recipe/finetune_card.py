"""What a fine-tuning gained, as a table; and the model's card, with its data, base and licence."""

from collections.abc import Iterator

from dialogist.engine.bundle import Bundle
from dialogist.engine.options import SummaryOptions
from dialogist.evaluation.report_card import Card, CardRow, RowKind, interval_cell, markdown_row
from dialogist.evaluation.upper_bounds import HUMAN
from dialogist.recipe.finetune_data import Rows
from dialogist.recipe.finetune_recipe import Base
from dialogist.text.listing import counted

_KEYS = {
    "rouge1.f1": "ROUGE-1",
    "rouge2.f1": "ROUGE-2",
    "rougeL.f1": "ROUGE-L",
    "faithfulness.any": "unsupported %",
    "faithfulness.swap": "roles mixed up %",
}
_SHOWN_FLOORS = ("constant", "lead-3")

NOT_TRUTH = (
    "ROUGE counts words shared with the references, and the two shares count what rules can see: "
    "neither tells whether the summaries are true. Read some beside their dialogues (dialogist "
    "rate)."
)


def table_of(card: Card) -> str:
    """The systems, the simplest floors and people, one row each, as Markdown."""
    heads = ["", *_KEYS.values(), "words"]
    lines = [markdown_row(heads), markdown_row(["---", *["---:"] * (len(heads) - 1)])]
    lines += [
        markdown_row([row.name, *(interval_cell(row, key, 1) for key in _KEYS), f"{row.words:.1f}"])
        for row in card.rows
        if _is_shown(row)
    ]
    count = f"{card.dialogues} held-out dialogues, {card.references:.1f} references each"
    return "\n".join([*lines, "", f"{count}; 95% intervals over dialogues. {NOT_TRUTH}"])


def _is_shown(row: CardRow) -> bool:
    if row.kind is RowKind.floor:
        return row.name.startswith(_SHOWN_FLOORS)
    return row.kind is RowKind.system or row.name == HUMAN


def card_of(base: Base, name: str, rows: Rows, table: str, bundle: Bundle) -> str:
    """The model card: Markdown with a YAML head."""
    head = ["library_name: dialogist", "pipeline_tag: summarization"]
    head += [f"license: {base.licence}"] if base.licence else []
    return "\n".join(["---", *head, "---", f"# {name}", "", *_body(base, rows, table, bundle)])


def _body(base: Base, rows: Rows, table: str, bundle: Bundle) -> Iterator[str]:
    references = sum(len(one.references) for one in rows.train)
    yield f"{base.name}, fine-tuned with `dialogist finetune`."
    yield ""
    yield from (
        f"* Base: {base.name}. {licence_line(base)}",
        f"* Data: {counted(len(rows.train), 'dialogues')} of one's own with "
        f"{counted(references, 'summaries')}; "
        f"{len(rows.held_out)} more were held out.",
        "* The weights and the tokenizer's word list hold words of the training dialogues: whoever "
        "gets the model may find personal data there that was not masked.",
        f"* {_confidence(bundle)}",
    )
    yield from ("", "## Held-out dialogues", "", table, "")
    yield "They also decided when training stopped, which favours `after` a little."
    yield ""


def licence_line(base: Base) -> str:
    """What the licence of the base means for the fine-tuned weights."""
    if not base.licence:
        return "It names no licence: find out what you may do with weights made from it."
    if "-nc" in base.licence.lower():
        return (
            f"The fine-tuned weights inherit its licence, {base.licence}: not for commercial use."
        )
    return f"The fine-tuned weights inherit its licence, {base.licence}; your data may add terms."


def _confidence(bundle: Bundle) -> str:
    bar = SummaryOptions.of(bundle.decoding).low_confidence
    if bar is None:
        return "No bar of confidence: `low_confidence` is never told."
    return f"A summary with a mean log-probability below {bar} has the status `low_confidence`."
