"""The model card that goes into every model folder."""

import json
from pathlib import Path

from dialogist.engine.bundle import Bundle
from dialogist.recipe.distillation import card_lines
from dialogist.recipe.recipe_config import Recipe


def model_card(recipe: Recipe, bundle: Bundle, metrics: Path, dev_size: int) -> str:
    """Markdown with a YAML head: what the model is, its data and licence, its dev scores."""
    parameters = sum(p.numel() for p in bundle.model.parameters())
    sets = ", ".join(data.path for data in recipe.data.train)
    lines = [
        "---",
        "library_name: dialogist",
        "pipeline_tag: summarization",
        *([f"license: {recipe.licence}"] if recipe.licence else []),
        "---",
        f"# {recipe.name}",
        "",
        recipe.description.strip() or "A dialogue summarization model.",
        "",
        f"* {parameters:,} parameters, vocabulary {len(bundle.tokenizer):,}, trained on {sets}",
        f"* reads {recipe.preparation.limits.reads} at most and says so when a dialogue is longer",
        "",
        *_scores(metrics, dev_size),
        *card_lines(metrics.parent),
        recipe.card.strip(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _scores(metrics: Path, dev_size: int) -> list[str]:
    """The table of validations, as they happened while training."""
    if not metrics.exists():
        return []
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    rows = [r for r in records if r.get("kind") == "epoch" and "dev_rouge1" in r]
    if not rows:
        return []
    names = ("dev_rouge1", "dev_rouge2", "dev_rougeL", "dev_rougeLsum")
    table = [
        f"| {r['epoch']} | {r.get('dev_loss', float('nan')):.3f} | "
        + " | ".join(f"{r[name]:.2f}" for name in names)
        + " |"
        for r in rows
    ]
    return [
        f"Validation while training (on at most {dev_size} dev dialogues, with the search of the "
        "recipe's `validation`; ROUGE F1 x 100):",
        "",
        "| epoch | dev loss | R1 | R2 | RL | RLsum |",
        "|---|---|---|---|---|---|",
        *table,
        "",
    ]
