"""How many summaries say a content word again soon: "the system of the system".

    python bench/words_said_again.py PREDICTIONS ...

PREDICTIONS is what `dialogist evaluate ... --predictions` wrote. Again soon: an English word that
is no grammar, twice in a sentence with at most three words between. Speakers' names are counted
apart, for that can be right ("James tells Julia James's"), and who does something to himself
("Monica tells Monica"). The references are counted the same way: people do it, too.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from dialogist.metrics.dialogue_claims import reflexive_statements
from dialogist.language.clauses import is_content
from dialogist.language.tokens import FUNCTION_WORDS, Token, sentence_spans, tokens_of

_BETWEEN = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predictions", type=Path, nargs="+")
    for path in parser.parse_args().predictions:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        speakers = [{turn["speaker"] for turn in record["turns"]} for record in records]
        said = [record["prediction"] for record in records]
        print(f"{path}\n  outputs    {_counts(zip(said, speakers, strict=True))}")
        pairs = zip(records, speakers, strict=True)
        references = ((text, s) for record, s in pairs for text in record["references"])
        print(f"  references {_counts(references)}")


def _counts(texts: Iterable[tuple[str, set[str]]]) -> str:
    total = words = speakers = oneself = 0
    for text, names in texts:
        known = {part.lower() for name in names for part in name.split()}
        again = _again(text)
        total += 1
        words += bool(again - known)
        speakers += bool(again & known)
        who = known.__contains__
        told = reflexive_statements(text, lambda word, who=who: 0 if who(word) else None)
        oneself += any(same for _, _, same in told)
    counts = (words, speakers, oneself)
    shares = (f"{count} ({100 * count / max(1, total):.1f}%)" for count in counts)
    return "of {}: words {}, speakers' names {}, oneself {}".format(total, *shares)


def _again(text: str) -> set[str]:
    found: set[str] = set()
    for start, end in sentence_spans(text):
        words = [token.base for token in tokens_of(text[start:end]) if _is_word(token)]
        for i, word in enumerate(words):
            content = word.isalpha() and is_content(word) and word not in FUNCTION_WORDS
            if content and word in words[i + 1 : i + 2 + _BETWEEN]:
                found.add(word)
    return found


def _is_word(token: Token) -> bool:
    return token.base[0].isalnum() or token.base[0] == "#"


if __name__ == "__main__":
    main()
