"""A meeting and its summary, small enough to check by eye."""

from pathlib import Path

import numpy as np
import yaml

from dialogist.highlights.candidates import candidates_of, quoted
from dialogist.highlights.section_network import OUTPUTS, SectionChances
from dialogist.language.reading import reading_of
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance

HERE = Path(__file__).parent


def table(name):
    """The rows of a YAML file."""
    return yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))


def dialogue_of(*lines, **fields):
    """A dialogue of ``Speaker: text`` lines; ``Speaker/role: text`` gives a role."""
    utterances = []
    for line in lines:
        head, _, text = line.partition(": ")
        speaker, _, role = head.partition("/")
        utterances.append(Utterance(speaker, text, role))
    return Dialogue(tuple(utterances), **fields)


def scored(dialogue, **found):
    """The dialogue, as if the network had found words under sections, and owned actions."""
    reading = reading_of(dialogue)
    candidates = candidates_of(reading)
    chances = np.zeros((len(candidates), len(OUTPUTS)), np.float32)
    for output, words in found.items():
        for said in words:
            [number] = [n for n, one in enumerate(candidates) if said in quoted(reading, one)[0]]
            chances[number, [0, OUTPUTS.index(output)]] = 0.9
    dialogue.cache["sections"] = SectionChances(candidates, chances)
    return dialogue


def summary_of(*sentences, evidence=(), sections=(), **fields):
    """A summary of whole statements with their places; fields of all statements as keywords."""
    text, statements = "", []
    for number, sentence in enumerate(sentences):
        start = len(text) + bool(text)
        text += " " * bool(text) + sentence
        spans = evidence[number] if number < len(evidence) else ()
        section = sections[number] if number < len(sections) else ""
        statements.append(
            Statement(sentence, start, len(text), section, evidence=tuple(spans), **fields)
        )
    return Summary(text, "m1", statements=tuple(statements))


def span(utterance):
    return EvidenceSpan(utterance, 0, 2)


_MEETING = dialogue_of(
    "Anna: OK, shall we use rubber buttons then?",
    "Bo: Yes, sounds good.",
    "Anna: Bo, can you send the *minutes* to the team by Friday?",
    "Bo: Sure, I will.",
    "Cy: I'll call the supplier tomorrow morning.",
    "Anna: Who pays for the buttons and the remote control?",
    "Bo: I don't know. The remote control is expensive.",
    id="m1",
)
MEETING = scored(
    _MEETING,
    issue=["rubber"],
    decisions=["rubber"],
    actions=["minutes", "supplier"],
    questions=["Who pays"],
    owner=["supplier"],
)
MINUTES = summary_of(
    "The group decided to use rubber buttons.",
    "Cy will call the supplier.",
    "It was a short meeting.",
    evidence=[[span(0)], [span(4)], []],
)
