"""Many threads, one summarizer: the bytes of one thread."""

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dialogist import Dialogue, Session, Summarizer, Summary, SummaryOptions, Utterance
from dialogist.records import JSON
from dialogist_lab.explain.explanation import MapChoice, select_maps
from dialogist_lab.explain.explanation_page import explanation_to_json
from dialogist_lab.explain.tracing import explain_dialogue

THREADS = 8
TEXT = """we meet at the gym shop park on Monday Friday noon 7:30 pay 25 dollars for two tickets to
Berlin order number 4711 please call Luigi about lunch refund invoice parcel was not sent"""
WORDS = TEXT.split()


def talks(count: int, seed: int = 0) -> list[Dialogue]:
    """Short and long ones, so that threads are in different stages at the same time."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        turns = chance.choice((2, 3, 5, 8, 30))
        made.append(
            Dialogue(
                tuple(
                    Utterance(
                        ("Ann", "Bo", "Carla")[chance.randrange(3)],
                        " ".join(chance.choices(WORDS, k=chance.randint(1, 20))),
                    )
                    for _ in range(turns)
                ),
                id=str(number),
            )
        )
    return made


def content(summary: Summary) -> str:
    """All but how long it took, as it is written."""
    return json.dumps({**summary.to_json(), "timings": {}})


def as_alone(say: Callable[[Dialogue], Summary], dialogues: list[Dialogue]) -> None:
    """Check that what many threads say is what one does."""
    alone = [content(say(dialogue)) for dialogue in dialogues]
    with ThreadPoolExecutor(THREADS) as pool:
        together = [*pool.map(lambda dialogue: content(say(dialogue)), dialogues)]
    assert together == alone


@pytest.mark.parametrize("kind", ["summarize", "faithful", "session", "several"])
def test_threads_say_what_one_says(tiny_model: Path, kind: str) -> None:
    summarizer = Summarizer.load(str(tiny_model))
    sampling = SummaryOptions(strategy="sample", seed=3)

    def say(dialogue: Dialogue) -> Summary:
        if kind == "session":
            session = Session(summarizer, id=dialogue.id)
            session.add(*dialogue.utterances)
            return session.summary()
        if kind == "several":
            return summarizer.summarize([dialogue, dialogue], sampling)[1]
        style = "faithful" if kind == "faithful" else "free"
        return summarizer.summarize([dialogue], style=style)[0]

    as_alone(say, talks(24))


def test_threads_explain_what_one_explains(tiny_model: Path) -> None:
    summarizer, dialogues = Summarizer.load(str(tiny_model)), talks(12)

    def say(dialogue: Dialogue) -> JSON:
        explanation = explain_dialogue(summarizer, dialogue)
        return explanation_to_json(explanation, select_maps(explanation, MapChoice()))

    alone = [*map(say, dialogues)]
    with ThreadPoolExecutor(THREADS) as pool:
        together = [*pool.map(say, dialogues)]
    assert together == alone


@pytest.mark.slow
@pytest.mark.parametrize("style", ["faithful", "free"])
def test_threads_of_the_bundled_model(style: str) -> None:
    """8 threads with the same 200 dialogues, each in an order of its own."""
    summarizer, dialogues = Summarizer.load("default"), talks(200)

    def say(dialogue: Dialogue) -> str:
        return content(summarizer.summarize([dialogue], style=style)[0])

    def say_all(thread: int) -> dict[str, str]:
        order = random.Random(thread).sample(dialogues, len(dialogues))
        return {dialogue.id: say(dialogue) for dialogue in order}

    alone = {dialogue.id: say(dialogue) for dialogue in dialogues}
    with ThreadPoolExecutor(THREADS) as pool:
        together = [*pool.map(say_all, range(THREADS))]
    assert together == [alone] * THREADS


def test_many_threads_add_to_one_session(tiny_model: Path) -> None:
    session = Session(Summarizer.load(str(tiny_model)))
    said = [Utterance("Ann", f"We meet at {i}.") for i in range(40)]

    def add(utterance: Utterance) -> str:
        session.add(utterance)
        return session.summary().status

    with ThreadPoolExecutor(THREADS) as pool:
        assert "error" not in set(pool.map(add, said))
    assert set(session.dialogue.utterances) == set(said)
    assert session.summary().coverage.utterances == 40
