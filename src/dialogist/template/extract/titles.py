"""A title: the words that a dialogue comes back to, as it writes them. No sentence is invented."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue, EvidenceSpan
from dialogist.template.extract.turns import Found, turns_of
from dialogist.text.patterns import language_of
from dialogist.text.people import DAYS, MONTHS
from dialogist.text.porter import stem_of
from dialogist.text.tokens import IRREGULAR, OPENERS, REPORTING, word_set

_WORD = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+)*")
_COMMON = """
able afraid always called care change come course day days deal easy exactly fact far feeling fine
full fun guy guys happen happy hard hear hold hour hours idea interesting job kind life line list
listen live look looking main make makes making matter mean means mind minute minutes miss moment
month months morning name necessary needs night number open opinion past place possible pretty
problem put quite ready real reason remember saying set sir madam side simple sorts special start
stuff suppose take taking talk terms thing things thinking time times tried true try trying turn
understand use used using wait wanted wants watch way week weeks weekend wonderful wondering words
working world wow wrong year years young ain mm-hmm uh-huh mm hmm huh mhm mmm kay alright get give
go sort interested available abroad cuz uh um er mister mrs afternoon evening euro euros dollar
dollars pound pounds buck bucks cent cents percent agreed
"""
_STOP = OPENERS | REPORTING | word_set(_COMMON) | {*DAYS, *MONTHS} | set(IRREGULAR)
_MOST = 3  # words or pairs in a title
_PAIRED = 0.5  # a pair of words is one topic if it makes up that part of the rarer word's uses
_OFTEN = 2  # times that a topic is spoken of at least
_ALONE = 3  # times that a word is said which is the whole title
_HAN_RUN = re.compile("[\u4e00-\u9fff]{2,}")
_MASK = re.compile(r"[\[【<][^\]】>]{1,20}[\]】>]")
_FREE = 0.6  # of a word's uses at most have the same neighbour: else it is part of a longer word
_HAN_STOP = frozenset(
    "的了吗呢吧啊哦嗯您你我他她它们是在有和就都也还这那不没个一可以会能要说看到去来上下好谢请问什么怎么样时候"
    "为被把给让对已经现在如果因为所以但是帮亲呀哈哪里几多少再很将与或及其之以后前麻烦感客服用户感谢稍等显示"
)


def title_of(dialogue: Dialogue) -> Found | None:
    """The corpus' own topic, else the most frequent topic words; None where nothing comes back."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        return Found(_capital(" ".join(topic.split())), ())
    said = "\n".join(u.text for u in dialogue.utterances)
    if language_of(said) == "zh":
        return _chinese(dialogue)
    return _english(dialogue)


def _english(dialogue: Dialogue) -> Found | None:
    speakers = Speakers(dialogue)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, EvidenceSpan] = {}
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for run in _runs(dialogue, speakers):
        stems = [stem_of(word.lower()) for word, _ in run]
        for stem, (word, span) in zip(stems, run, strict=True):
            forms[stem][word] += 1
            first.setdefault(stem, span)
            counts[stem] += 1
        pairs.update((a, b) for a, b in pairwise(stems) if a != b)
    topics = _topics(counts, pairs)
    if not topics or (len(topics) == 1 and len(topics[0]) == 1 and counts[topics[0][0]] < _ALONE):
        return None
    words = [" ".join(forms[stem].most_common(1)[0][0] for stem in topic) for topic in topics]
    return Found(_capital(", ".join(words)), tuple(first[topic[0]] for topic in topics))


def _runs(dialogue: Dialogue, speakers: Speakers) -> Iterator[list[tuple[str, EvidenceSpan]]]:
    """Rows of neighbouring words that may be a topic, each with its place."""
    for sentence in turns_of(dialogue).all():
        run: list[tuple[str, EvidenceSpan]] = []
        end = 0
        for match in _WORD.finditer(sentence.text):
            word, low = match[0], match[0].lower()
            known = low in _STOP or low.removesuffix("s") in _STOP or len(low) < 3
            if known or low.endswith(("ing", "ly", "n't")) or speakers.who(low) is not None:
                word = ""
            if run and (not word or sentence.text[end : match.start()] != " "):
                yield run
                run = []
            if word:
                name = word if not word[1:].islower() or match.start() else low
                run.append((name, sentence.span(match.start(), match.end())))
            end = match.end()
        if run:
            yield run


def _topics(counts: Counter[str], pairs: Counter[tuple[str, str]]) -> Sequence[tuple[str, ...]]:
    """The most frequent words, those that mostly stand side by side as one; first said first."""
    paired = {
        pair: n
        for pair, n in pairs.items()
        if n >= _OFTEN and n >= _PAIRED * min(counts[pair[0]], counts[pair[1]])
    }
    taken = {stem for pair in paired for stem in pair}
    single: dict[tuple[str, ...], float] = {
        (stem,): n for stem, n in counts.items() if n >= _OFTEN and stem not in taken
    }
    weights: dict[tuple[str, ...], float] = {**single, **{p: 1.5 * n for p, n in paired.items()}}
    best: list[tuple[str, ...]] = []
    for topic in sorted(weights, key=lambda t: -weights[t]):
        if not any(set(topic) & set(other) for other in best):
            best.append(topic)
    order = list(counts)
    return sorted(best[:_MOST], key=lambda topic: order.index(topic[0]))


def _chinese(dialogue: Dialogue) -> Found | None:
    """Runs of two to four characters that come back between different neighbours: words."""
    first: dict[str, EvidenceSpan] = {}
    sides: dict[str, tuple[Counter[str], Counter[str]]] = defaultdict(
        lambda: (Counter(), Counter())
    )
    for number, utterance in enumerate(dialogue.utterances):
        for piece, start, run in _pieces(utterance.text):
            end = start + len(piece)
            first.setdefault(piece, EvidenceSpan(number, start, end, 1.0))
            sides[piece][0][run[0] if start == run[1] else utterance.text[start - 1]] += 1
            sides[piece][1][run[0] if end == run[2] else utterance.text[end]] += 1
    counts = {p: sum(left.values()) for p, (left, right) in sides.items() if _free(left, right)}
    best: list[str] = []
    for piece in sorted(counts, key=lambda p: (-counts[p] * len(p), -len(p))):
        if counts[piece] >= _OFTEN and not any(piece in b or b in piece for b in best):
            best.append(piece)
    chosen = best[:_MOST]
    return Found("、".join(chosen), tuple(first[piece] for piece in chosen)) if chosen else None


def _pieces(text: str) -> Iterator[tuple[str, int, tuple[str, int, int]]]:
    """Candidate words, where they begin, and the run they stand in."""
    for run in _HAN_RUN.finditer(_MASK.sub(lambda mask: " " * len(mask[0]), text)):
        for start in range(run.start(), run.end() - 1):
            for end in range(start + 2, min(start + 4, run.end()) + 1):
                if _HAN_STOP.isdisjoint(text[start:end]):
                    yield text[start:end], start, ("", run.start(), run.end())


def _free(left: Counter[str], right: Counter[str]) -> bool:
    """Whether no one neighbour stands beside it nearly always; the end of a run is no neighbour."""
    return all(
        max((n for c, n in side.items() if c), default=0) <= _FREE * sum(side.values())
        for side in (left, right)
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
