"""How much of real references survives a recipe's tokenizer: sizes, round trips, spaces, case.

python bench/clean_text.py dialogsum-minilm --data DATA
"""

import argparse
from pathlib import Path

from dialogist.data.prepare import Preparation
from dialogist.recipe.corpus import read_sets, tokenizer_texts
from dialogist.recipe.recipe_config import data_folder, read_recipe
from dialogist.tokenizers import Tokenizer, build_tokenizer
from dialogist.tokenizers.wordpiece_codec import JOIN, SPACE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    recipe, folder = read_recipe(arguments.recipe), data_folder(arguments.data)
    preparation = Preparation(recipe.preparation)
    train = [preparation.prepare(d) for d in read_sets(recipe.data.train, folder, print)]
    dev = [preparation.prepare(d) for d in read_sets(recipe.data.dev, folder, print)]
    entities, speakers = preparation.masks_entities, preparation.has_speaker_tokens
    tokenizer = build_tokenizer(recipe.tokenizer, tokenizer_texts(train), entities, speakers)
    print(f"entries of the tokenizer: {len(tokenizer):,}")
    pairs = [(target, example) for example in dev for target in example.targets]
    marks = {i for i in range(len(tokenizer)) if tokenizer.token(i) in (JOIN, SPACE)}
    for name, texts in (
        ("dev references", [target for target, _ in pairs]),
        ("dev dialogues", [u.text for example in dev for u in example.utterances]),
    ):
        count_tokens(name, tokenizer, texts, marks)
    as_written = Preparation(recipe.preparation.model_copy(update={"case": "kept"}))
    same = words = whole = 0
    for target, example in pairs:
        wanted = as_written.restore(target, example)
        found = preparation.restore(tokenizer.decode(tokenizer.encode(target)), example)
        whole += wanted == found
        both = list(zip(wanted.split(), found.split(), strict=False))
        same, words = same + sum(a == b for a, b in both), words + len(wanted.split())
    print(f"words as they were: {same:,} of {words:,} ({100 * same / words:.2f}%)")
    print(f"references as they were: {whole} of {len(pairs)}")


def count_tokens(name: str, tokenizer: Tokenizer, texts: list[str], marks: set[int]) -> None:
    """Tokens, spaces told by a mark, and texts that come back but for case."""
    tokens = [tokenizer.encode(text) for text in texts]
    total, marked = sum(map(len, tokens)), sum(i in marks for row in tokens for i in row)
    back = sum(
        tokenizer.decode(row).lower() == t.lower() for row, t in zip(tokens, texts, strict=True)
    )
    print(
        f"{name}: {total:,} tokens, {marked:,} of them marks; {back:,} of {len(texts):,} come back"
    )


if __name__ == "__main__":
    main()
