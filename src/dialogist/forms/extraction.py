"""Everything that a dialogue itself says for a form, in English; and a title for it."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from dialogist.forms.actions import actions_in
from dialogist.forms.decisions import decisions_in, questions_in
from dialogist.forms.outcomes import done_in, issues_in, outcomes_in
from dialogist.forms.sentences import Finding, Talk, corrected, distinct, standing
from dialogist.language.detection import language_of
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.porter import stem_of
from dialogist.language.tokens import IRREGULAR, OPENERS, REPORTING, word_set
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
_COMMON = word_set(
    """
able afraid agreed always called care change come course day days deal easy exactly fact far
feeling fine full fun guy guys happen happy hard hear hold hour hours idea interesting job kind
life line list listen live look looking main make makes making matter mean means mind minute
minutes miss moment month months name necessary needs night number open opinion past place possible
pretty problem put quite ready real reason remember saying set side simple sorts special start
stuff suppose take taking talk terms thing things thinking time times tried true try trying turn
understand use used using wait wanted wants watch way week weeks weekend wonderful wondering words
world wow wrong year years young mhm give available abroad cuz get go sort euro euros dollar
dollars pound pounds
"""
)
_NO_TOPIC = OPENERS | REPORTING | _COMMON | {*DAYS, *MONTHS} | set(IRREGULAR)
_MOST = 3  # words or pairs in a title
_OFTEN = 2  # times that a topic is spoken of at least
_ALONE = 3  # times that a word is said which is the whole title


def title_of(dialogue: Dialogue) -> tuple[str, tuple[EvidenceSpan, ...]]:
    """The corpus' own topic, else the most frequent topic words; empty where nothing comes back."""
    topic = dialogue.metadata.get("topic")
    if isinstance(topic, str) and topic.strip():
        return _capital(" ".join(topic.split())), ()
    people = {name.lower() for speaker in dialogue.speakers for name in _WORD.findall(speaker)}
    shown: dict[str, str] = {}
    first: dict[str, EvidenceSpan] = {}
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for number, utterance in enumerate(dialogue.utterances):
        row: list[tuple[str, int]] = []
        for match in _WORD.finditer(utterance.text):
            word, low = match[0], match[0].lower()
            is_common = low in _NO_TOPIC or low.removesuffix("s") in _NO_TOPIC or low in people
            if is_common or len(low) < 3 or low.endswith(("ing", "ly")):
                continue
            stem = stem_of(low)
            shown.setdefault(stem, low if word[1:].islower() and match.start() == 0 else word)
            first.setdefault(stem, EvidenceSpan(number, match.start(), match.end()))
            counts[stem] += 1
            row.append((stem, match.start()))
        pairs.update(
            (stem, after)
            for (stem, start), (after, place) in pairwise(row)
            if stem != after and place == start + len(shown[stem]) + 1
        )
    # Words that mostly stand side by side are one topic.
    paired: dict[tuple[str, ...], float] = {
        pair: 1.5 * n
        for pair, n in pairs.items()
        if n >= _OFTEN and 2 * n >= min(counts[pair[0]], counts[pair[1]])
    }
    within = {stem for pair in paired for stem in pair}
    weights = dict(paired)
    weights |= {(s,): n for s, n in counts.items() if n >= _OFTEN and s not in within}
    topics: list[tuple[str, ...]] = []
    for candidate in sorted(weights, key=lambda t: -weights[t]):
        if not any(set(candidate) & set(topic) for topic in topics):
            topics.append(candidate)
    order = list(counts)
    topics = sorted(topics[:_MOST], key=lambda topic: order.index(topic[0]))
    if len(topics) == 1 and len(topics[0]) == 1 and counts[topics[0][0]] < _ALONE:
        return "", ()
    words = (" ".join(shown[stem] for stem in topic) for topic in topics)
    return _capital(", ".join(words)), tuple(first[topic[0]] for topic in topics)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
