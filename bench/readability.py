"""Measure the documentation: words of each page, and how long its sentences are.

    python bench/readability.py [PAGE...]

Words of tables count; words of code blocks and of tables that are made from results/ do not.
Sentences are those of paragraphs and lists: tables, headings and code have none.
tests/docs/test_docs.py holds the pages to a budget.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NOT_WRITTEN = ("notes", "generated")
"""Folders that the budget leaves out: records of experiments, and what code writes."""

_WORD = re.compile(r"[\w']*\w[\w'’/%.,:-]*")
_CODE = re.compile(r"^ *(```|~~~).*?^ *\1$", re.M | re.S)
_COMMENT = re.compile(r"<!-- table: .*?<!-- /table -->|<!--.*?-->", re.S)
"""Comments, and tables that bench/results_page.py writes."""
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_BLOCK = re.compile(r"\n\s*\n|\n(?= *(?:[*-]|\d+\.) )")
_END = re.compile(r"(?<=[.!?])[\"”)*]*\s+(?=[\"“(*`\[]*[A-Z0-9`])|:\s+(?=\*\*)")


def written_pages() -> list[Path]:
    """The pages that people write, README among them."""
    pages = (p for p in sorted(DOCS.rglob("*.md")) if not set(NOT_WRITTEN) & set(p.parts))
    return [ROOT / "README.md", *pages]


def prose(text: str) -> str:
    """A page without code blocks, comments and addresses of links; inline code is one word."""
    text = _LINK.sub(r"\1", _COMMENT.sub("", _CODE.sub("", text)))
    return re.sub(r"`[^`\n]+`", "code", text)


def words(text: str) -> int:
    """How many words there are, those of tables included."""
    return len(_WORD.findall(prose(text)))


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and lists."""
    for block in _BLOCK.split(prose(text)):
        lines = (line.strip() for line in block.splitlines())
        kept = [line for line in lines if line and line[0] not in "|#"]
        for sentence in _END.split(" ".join(kept)):
            if _WORD.search(sentence):
                yield " ".join(sentence.split())


def main() -> None:
    pages = [Path(name) for name in sys.argv[1:]] or written_pages()
    total, lengths = 0, []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = [(len(_WORD.findall(one)), one) for one in sentences(text)]
        total += words(text)
        lengths += [count for count, _ in found]
        mean = sum(count for count, _ in found) / max(1, len(found))
        count, longest = max(found, default=(0, ""))
        print(f"{words(text):6d} words {mean:5.1f} mean {count:3d} longest  {page}: {longest[:90]}")
    mean = sum(lengths) / max(1, len(lengths))
    print(f"{total:6d} words {mean:5.1f} mean {max(lengths):3d} longest  of all")


if __name__ == "__main__":
    main()
