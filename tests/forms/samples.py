"""A meeting and its summary, small enough to check by eye."""

from pathlib import Path

import yaml

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


MEETING = dialogue_of(
    "Anna: OK, shall we use rubber buttons then?",
    "Bo: Yes, sounds good.",
    "Anna: Bo, can you send the *minutes* to the team by Friday?",
    "Bo: Sure, I will.",
    "Cy: I'll call the supplier tomorrow morning.",
    "Anna: Who pays for the buttons and the remote control?",
    "Bo: I don't know. The remote control is expensive.",
    id="m1",
)
MINUTES = summary_of(
    "The group decided to use rubber buttons.",
    "Cy will call the supplier.",
    "It was a short meeting.",
    evidence=[[span(0)], [span(4)], []],
)
