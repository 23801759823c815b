"""What a dialogue says about a section of key points in its own words, told by the section's cues.

An empty section must not read as if nothing had been said: "Any allergies?" - "Penicillin."
"""

from collections.abc import Iterator, Sequence

from dialogist.records import Dialogue
from dialogist.template.extract.turns import Found, turns_of
from dialogist.template.extract.wording import quoted
from dialogist.template.fields import has_cue


def answers_in(dialogue: Dialogue, cues: Sequence[str]) -> Iterator[Found]:
    """Each question that names a cue, with all that its answer says, as quotes."""
    turns = turns_of(dialogue)
    for sentence in turns.all():
        if not sentence.text.endswith("?") or not has_cue(sentence.text, cues):
            continue
        reply = list(turns.reply(sentence.utterance))
        while reply and (text := quoted(sentence, *reply)) is None:
            reply.pop()
        if reply and text is not None:
            yield Found(text, tuple(one.span() for one in (*reply, sentence)))


def mentions_of(dialogue: Dialogue, cues: Sequence[str]) -> tuple[int, ...]:
    """The utterances that name a cue, counted from 0."""
    return tuple(n for n, one in enumerate(dialogue.utterances) if has_cue(one.text, cues))
