"""The sentences of a summary with the key points that a template can ask for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dialogist.data.key_points import LabelOrigin, RulePack
from dialogist.records import Statement, Summary
from dialogist.template.template_config import Template, pack_of
from dialogist.text.tokens import sentence_spans

_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', "”", "’", ")", "）", ";", "；")


@dataclass(frozen=True, slots=True)
class Sentences:
    """All whole sentences of a summary, labelled where that is possible; ``notes`` in words."""

    all: tuple[Statement, ...]
    notes: tuple[str, ...] = ()


def sentences_of(summary: Summary, template: Template) -> Sentences:
    """The summary's sentences with their labels.

    A model's own key points count where the template asks for any of them; else the rule pack of
    the template that knows most sentences labels them. The half sentence of a summary that was cut
    is left out, and a note says so.
    """
    sentences = list(_sentences(summary))
    notes = []
    if summary.is_cut and sentences and not sentences[-1].text.rstrip().endswith(_ENDS):
        notes.append(f"the summary was cut: left out its half sentence '{sentences.pop().text}'")
    wanted = {label for section in template.sections for label in section.labels}
    own = [_own_label(sentence, summary) for sentence in sentences]
    if wanted.isdisjoint(own) and template.packs and wanted:
        packs = [pack_of(name) for name in template.packs]
        own = _labels(sentences, packs)
    labelled = [replace(s, label=label) for s, label in zip(sentences, own, strict=True)]
    return Sentences(tuple(s for s in labelled if not _is_heading(s)), tuple(notes))


def _is_heading(statement: Statement) -> bool:
    """A line such as ``PLAN`` or ``Results:`` names a section and states nothing."""
    text = statement.text.strip()
    bare = text.rstrip(":：")
    named = bare.casefold() == statement.label.casefold()
    return bool(bare) and (named or (text.isupper() and not text.endswith(_ENDS)) or bare != text)


def _sentences(summary: Summary) -> Iterator[Statement]:
    if summary.sentences:
        yield from summary.sentences
        return
    for start, end in sentence_spans(summary.text):
        yield Statement(summary.text[start:end], start, end)


def _own_label(sentence: Statement, summary: Summary) -> str:
    if sentence.label:
        return sentence.label
    parts = (p for p in summary.key_points if p.start <= sentence.start < p.end)
    return next((part.label for part in parts), "")


def _labels(sentences: Sequence[Statement], packs: Sequence[RulePack]) -> list[str]:
    """The labels of the pack with most rules that fit; of equal ones the first."""
    text = "\n".join(" ".join(sentence.text.split("\n")) for sentence in sentences)
    best: list[str] = [""] * len(sentences)
    most = -1
    for pack in packs:
        labelled = pack.analyse_sentences(text)
        fitting = sum(sentence.origin is LabelOrigin.rule for sentence in labelled)
        if fitting > most:
            most, place = fitting, 0
            best = []
            for sentence in sentences:
                found = (s for s in labelled if place <= s.start < place + len(sentence.text))
                best.append(next((one.label for one in found), pack.default))
                place += len(sentence.text) + 1
    return best
