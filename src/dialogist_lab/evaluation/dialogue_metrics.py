"""Metrics that look at output and dialogue: support, copying, order, slots, key points."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from statistics import fmean
from types import SimpleNamespace
from typing import Any

from rouge_score.rouge_scorer import RougeScorer

from dialogist.forms.key_points import RulePack
from dialogist.grounding import ground
from dialogist.grounding.local_verifier import local_verifier
from dialogist.grounding.verification import SureRules
from dialogist.language.tokens import split_sentences, words_in
from dialogist.records import Draft
from dialogist_lab.evaluation.metric import Case, Metric, MetricColumn, mean_of, share_of
from dialogist_lab.evaluation.rouge_bleu import Bleu


class Support(Metric):
    """Outputs and statements with a name or number that nobody says, by the rules of the tool.

    These rules are sure of little: what they do not find may be wrong all the same.
    """

    name = "faithfulness"
    signature = "faithfulness 3 | dialogist.grounding.SureRules | statements: sentences"
    columns = (
        MetricColumn("faithfulness.any", "Contradicted", "lower"),
        MetricColumn("faithfulness.statements", "Contradicted statements", "lower"),
    )

    def measure(self, case: Case) -> Sequence[float]:
        if case.dialogue is None:
            return (0.0,) * 4
        rules = SureRules(case.dialogue.utterances)
        sentences = split_sentences(case.prediction)
        wrong = sum(bool(rules.complaints(sentence)) for sentence in sentences)
        return (*share_of(wrong > 0, 1), *share_of(wrong, len(sentences)))


class Supported(Metric):
    """Sentences of outputs that a verifier accepts, by the lines that the finder finds for them."""

    name = "support"
    columns = (
        MetricColumn("support.statements", "Supported statements", "higher"),
        MetricColumn("support.all", "All supported", "higher"),
    )

    def __init__(self) -> None:
        self._verifier = local_verifier()
        self.signature = f"support 1 | verifier: {self._verifier.name} | statements: sentences"

    def measure(self, case: Case) -> Sequence[float]:
        if case.dialogue is None:
            return (0.0,) * 4
        drafts = [Draft(sentence) for sentence in split_sentences(case.prediction)]
        judged = ground(case.dialogue, drafts, self._verifier)
        right = sum(statement.verdict == "supported" for statement in judged)
        return (*share_of(right, len(judged)), *share_of(right == len(judged), 1))


_COPIED = 3  # words: what a summary shares with a foreign dialogue is hardly ever as long


class Copying(Metric):
    """What a summary copies, says anew and repeats; any language with spaces, or Chinese.

    ``copied``: the share of words in copied spans of three words or more (the extractive fragments
    of Grusky et al. 2018, section 4.1, within one utterance). ``novel2``: the share of different
    pairs of words that the dialogue has not. ``compression``: words of the dialogue to one of the
    summary. ``repeats4``: outputs that say any four words twice.
    """

    name = "copying"
    signature = f"copying 2 | words in small letters, CJK by character | spans of {_COPIED} words"
    columns = (
        MetricColumn("copying.copied", "Copied", "neither"),
        MetricColumn("copying.novel2", "New pairs", "neither"),
        MetricColumn("copying.compression", "Compression", "neither"),
        MetricColumn("copying.repeats4", "Repeats", "lower"),
    )

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output; what needs the dialogue has none where there is none."""
        words = words_in(case.prediction.lower())
        turns = [] if case.dialogue is None else case.dialogue.utterances
        heard = [words_in(f"{turn.speaker} {turn.text}".lower()) for turn in turns]
        fours = _ngrams(words, 4)
        repeats = share_of(len(fours) > len(set(fours)), 1)
        if not words or not heard:
            return (*(0.0,) * 6, *repeats)
        pairs = set(_ngrams(words, 2))
        new = pairs - {pair for turn in heard for pair in _ngrams(turn, 2)}
        return (
            *share_of(sum(n for n in copied_spans(words, heard) if n >= _COPIED), len(words)),
            *share_of(len(new), len(pairs)),
            *mean_of(sum(map(len, heard)) / len(words)),
            *repeats,
        )


def copied_spans(words: Sequence[str], heard: Sequence[Sequence[str]]) -> list[int]:
    """Lengths of the copied spans from left to right: each the longest run found in a turn."""
    turns = "\n".join(f" {' '.join(turn)} " for turn in heard)
    spans, start = [], 0
    while start < len(words):
        end = start
        while end < len(words) and f" {' '.join(words[start : end + 1])} " in turns:
            end += 1
        if end > start:
            spans.append(end - start)
        start = max(end, start + 1)
    return spans


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


class EventOrder(Metric):
    """How much is told in another order than it was said (report 1, sections VI and VII).

    An anchor is a word of four letters or more that exactly one utterance holds, and no speaker's
    name. Pairs of anchors of different utterances are out of order where the summary turns them
    round. A person's summary may well begin with the outcome: compare with references.
    """

    name = "order"
    signature = "order 3 | anchors: words of one utterance, no names | pairs: of two utterances"
    columns = (MetricColumn("order.inversions", "Out of order", "lower"),)
    only_latin = True

    def measure(self, case: Case) -> Sequence[float]:
        if case.dialogue is None:
            return mean_of(None)
        holders: dict[str, set[int]] = {}
        for number, turn in enumerate(case.dialogue.utterances):
            for word in words_in(turn.text.lower()):
                holders.setdefault(word, set()).add(number)
        names = {word for name in case.dialogue.speakers for word in words_in(name.lower())}
        words = dict.fromkeys(words_in(case.prediction.lower()))
        places = [holders.get(word, set()) for word in words if len(word) > 3 and word not in names]
        anchors = [min(place) for place in places if len(place) == 1]
        pairs = [(a, b) for a, b in combinations(anchors, 2) if a != b]
        return mean_of(100 * fmean(a > b for a, b in pairs) if pairs else None)


class KeyPoints(Metric):
    """Sequences of key points, a label being a token: Table 4, right half, of Liu et al. KDD 2019.

    Section 4.2: BLEU, ROUGE-1 and -2 as recall, ROUGE-L as F1; and ROUGE-L of what is left when
    only the pack's key facts stay (Figure 3a). A system's own labels count where it has them, else
    the rules find them in its text. BLEU's n-grams are no longer than the longest reference.
    """

    name = "key-points"

    def __init__(self, pack: RulePack, references: Sequence[str]) -> None:
        self.pack = pack
        self.find = lru_cache(20_000)(self._find)
        self.only_latin = pack.language != "zh"
        self._numbers = {label: str(i) for i, label in enumerate(pack.labels)}
        longest = max((len(self.find(text, "")) for text in references), default=1)
        self._bleu = Bleu(orders=max(1, min(4, longest)), tokenize="none")
        by_spaces = SimpleNamespace(tokenize=str.split)
        self._rouge = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=by_spaces)
        self.signature = (
            f"{pack.name} | {self._bleu.signature} | a label is a token | "
            "R1 and R2 recall, RL F1 | x 100 | mean over references"
        )
        self.columns = (
            replace(self._bleu.columns[0], key="key_points.bleu", title="Key points BLEU"),
            MetricColumn("key_points.rouge1.recall", "Key points R1 R"),
            MetricColumn("key_points.rouge2.recall", "Key points R2 R"),
            MetricColumn("key_points.rougeL.f1", "Key points RL"),
            MetricColumn("key_facts.rougeL.f1", "Key facts RL"),
        )

    def _find(self, text: str, section: str) -> tuple[str, ...]:
        """The key points that the rules find in a text; none where nothing is said."""
        parts = self.pack.analyse(text, section) if words_in(text) else ()
        return tuple(part.label for part in parts)

    def measure(self, case: Case) -> Sequence[float]:
        """BLEU's counts, then means over the references."""
        section = str(case.dialogue.metadata.get("section", "")) if case.dialogue else ""
        plan = case.key_points
        labels = self.find(case.prediction, section) if plan is None else plan
        wanted = [self.find(text, section) for text in case.references]
        row = [*self._bleu.measure(Case(self._text(labels), tuple(map(self._text, wanted))))]
        for kind, least in (("rouge1", 1), ("rouge2", 2)):
            long_enough = [each for each in wanted if len(each) >= least]
            recalls = [100 * self._score(labels, each)[kind].recall for each in long_enough]
            row += mean_of(fmean(recalls) if recalls else None)
        for keep in (self.pack.labels, self.pack.key_facts):
            kept, *others = ([x for x in each if x in keep] for each in (labels, *wanted))
            scores = [self._score(kept, each)["rougeL"] for each in others if kept or each]
            row += mean_of(100 * fmean(score.fmeasure for score in scores) if scores else None)
        return row

    def _score(self, labels: Sequence[str], wanted: Sequence[str]) -> Any:
        return self._rouge.score(self._text(wanted), self._text(labels))

    def _text(self, labels: Sequence[str]) -> str:
        return " ".join(self._numbers[label] for label in labels)
