"""What other names and planted errors need, and the recipes that ask for them."""

from pathlib import Path

import pytest

from dialogist.config import read_yaml
from dialogist.errors import ConfigError
from dialogist.recipe.recipe_config import read_recipe
from dialogist_lab.ablation import AblationConfig, variants

BENCH = Path(__file__).parents[2] / "bench"
UNNAMED = "objective.contrast={kind: margin, corruption: {errors: [number, swap, denial]}}"
REFUSED = [
    ("dialogsum-report-1", "augmentation.names=0.5", "tokenizer.kind word does not"),
    ("dialogsum-report-1", "objective.contrast={kind: margin}", "tokenizer.kind word does not"),
    ("dialogsum-minilm", "augmentation.names=0.5", "preparation.case restored leaves none"),
    ("dialogsum-minilm", "objective.contrast={kind: margin}", "can be [number, swap, denial]"),
    (
        "dialogsum-minilm",
        "objective={kind: self-critical, unsupported: 0.2}",
        "objective.unsupported needs names with capitals",
    ),
    (
        "dialogsum-small",
        "augmentation.names=0.5;preparation.profile=xsum-report",
        "preparation.profile xsum-report leaves none",
    ),
    ("dialogsum-minilm-plan", UNNAMED, "a model that plans its key points"),
    ("dialogsum-small", "augmentation.speakers=1;preparation.speakers=inline", "speakers: atomic"),
]


@pytest.mark.parametrize(("recipe", "settings", "said"), REFUSED)
def test_refusals_are_one_line(recipe: str, settings: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_recipe(recipe, settings.split(";"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("recipe", ["dialogsum-minilm", "dialogsum-small"])
def test_errors_without_names_go_with_key_points_of_a_flat_model(recipe: str) -> None:
    assert read_recipe(recipe, [UNNAMED, "preparation.key_points=dialogsum"])


@pytest.mark.parametrize("name", ["levers", "levers-scratch", "levers-short"])
def test_all_rows_of_the_bundled_ablations_are_recipes(name: str) -> None:
    config = AblationConfig.parse(read_yaml(BENCH / f"{name}.yaml"), name)
    assert len(variants(config, Path("runs") / name)) == len(config.rows) + 1


def test_what_is_pretrained_fits_what_starts_from_it() -> None:
    first, then = read_recipe("pretrain-minilm"), read_recipe("dialogsum-minilm")
    assert first.model == then.model
    assert first.start == then.start
    assert first.preparation.speakers == then.preparation.speakers
    assert first.preparation.case == then.preparation.case
