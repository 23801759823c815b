"""Everything that a dialogue itself says for a form, in English; and a title for it."""

import re
from collections import defaultdict
from dataclasses import dataclass

from dialogist.forms.actions import actions_in
from dialogist.forms.decisions import decisions_in, questions_in
from dialogist.forms.outcomes import done_in, issues_in, outcomes_in
from dialogist.forms.sentences import Finding, Talk, corrected, distinct, standing
from dialogist.language.detection import language_of
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.tokens import ENGLISH, IRREGULAR, OPENERS, REPORTING, word_set
from dialogist.records import Dialogue, EvidenceSpan


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a dialogue itself says, each kind in the order it is said.

    ``issue``: what a customer comes with; ``done``: what was done; ``outcome``: how it ended.
    """

    decisions: tuple[Finding, ...] = ()
    actions: tuple[Finding, ...] = ()
    questions: tuple[Finding, ...] = ()
    issue: tuple[Finding, ...] = ()
    done: tuple[Finding, ...] = ()
    outcome: tuple[Finding, ...] = ()


def extract(dialogue: Dialogue) -> Extracted:
    """Read what an English dialogue says about itself; nothing in other languages.

    What is said twice is there once, with the evidence of both places; what a later utterance takes
    back or changes is not there.
    """
    if language_of("\n".join(u.text for u in dialogue.utterances)) != "en":
        return Extracted()
    talk = Talk.of(dialogue)
    done, decisions, actions = (
        tuple(corrected(find(talk), talk)) for find in (done_in, decisions_in, actions_in)
    )
    done = distinct(standing(done, talk))
    return Extracted(
        decisions=distinct(standing(decisions, talk), last=True),
        actions=distinct(standing(actions, talk, done)),
        questions=distinct(questions_in(talk)),
        issue=tuple(issues_in(talk)),
        done=done,
        outcome=tuple(outcomes_in(talk, done)),
    )


# A title: the words that a dialogue comes back to, as it writes them. No sentence is invented.

_WORD = re.compile(r"[^\W\d_]+(?:[-_][^\W\d_]+)*")
_COMMON = word_set(ENGLISH["common"])
_NO_TOPIC = OPENERS | REPORTING | _COMMON | {*DAYS, *MONTHS} | set(IRREGULAR)
_MOST = 3  # words or pairs in a title
_OFTEN = 2  # times that a topic is spoken of at least
_ALONE = 3  # times that a word is said which is the whole title


def title_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """The corpus' own topic, else the most frequent topic words; empty where nothing comes back."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        return _capital(" ".join(topic.split())), ()
    said = _topics_in(dialogue)
    often = {topic: len(places) for topic, places in said.items() if len(places) >= _OFTEN}
    # Words that mostly stand side by side are one topic.
    pairs = [t for t in often if len(t) > 1 and 2 * often[t] >= min(often[t[:1]], often[t[1:]])]
    within = {stem for pair in pairs for stem in pair}
    single = [t for t in often if len(t) == 1 and t[0] not in within]
    topics: list[tuple[str, ...]] = []
    for key in sorted((*pairs, *single), key=lambda t: -often[t] * (1 + len(t))):
        if not any(set(key) & set(other) for other in topics):
            topics.append(key)
    if len(topics) == 1 and len(topics[0]) == 1 and often[topics[0]] < _ALONE:
        return "", ()
    order = list(said)
    topics = sorted(topics[:_MOST], key=lambda key: order.index(key[:1]))
    words, spans = zip(*(said[key][0] for key in topics), strict=True) if topics else ((), ())
    return _capital(", ".join(words)), tuple(spans)


def _topics_in(dialogue: Dialogue) -> dict[tuple[str, ...], list[tuple[str, EvidenceSpan]]]:
    """Words that may name a topic, and pairs of them, by stems: as they are written, and where."""
    people = {name.lower() for speaker in dialogue.speakers for name in _WORD.findall(speaker)}
    said: defaultdict[tuple[str, ...], list[tuple[str, EvidenceSpan]]] = defaultdict(list)
    for number, utterance in enumerate(dialogue.utterances):
        text, before, last = utterance.text, "", -_OFTEN
        start = 0
        for match in _WORD.finditer(text):
            word, low = match[0], match[0].lower()
            is_common = low in _NO_TOPIC or low.removesuffix("s") in _NO_TOPIC or low in people
            if is_common or len(low) < 3 or low.endswith(("ing", "ly")):
                continue
            stem = stem_of(low)
            shown = low if word[1:].islower() and match.start() == 0 else word
            said[stem,].append((shown, EvidenceSpan(number, *match.span())))
            if match.start() == last + 1 and stem != before:
                pair = text[start : match.end()]
                said[before, stem].append((pair, EvidenceSpan(number, start, match.end())))
            before, (start, last) = stem, match.span()
    return said


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
