"""Searching for entities takes time in proportion to the text, whatever the text."""

import time

import pytest

from dialogist.data.entities import mask_entities

ADVERSARIAL = [
    *(
        "1",
        "1 ",
        "12-",
        "A1-",
        "a.",
        "a.a@",
        "http://",
        "http://!",
        "1:",
        "+1 ",
        "((((1",
        "0 ",
        "$1,",
    ),
    *(
        "twenty and ",
        "一",
        "3月",
        "2019-",
        "AB12 ",
        "order number is : ",
        "plate a",
        "phone 1(",
        "May ",
    ),
    *(
        "flight A",
        "#",
        "号码是",
        "192.168.",
        "1a:2b:",
        "DE89 ",
        "1 1 1 1-",
        "\U0010f100",
        "order 123-",
    ),
]


def cpu_time(text: str) -> float:
    """Processor time: what else the machine does is not counted."""
    start = time.process_time()
    mask_entities([text])
    return time.process_time() - start


def is_linear(short: str, long: str) -> bool:
    """The best of three; four times the length: quadratic time would be sixteen times as much."""
    bound = 9 * max(min(cpu_time(short) for _ in range(3)), 0.002)
    return any(cpu_time(long) < bound for _ in range(3))


@pytest.mark.parametrize("unit", ADVERSARIAL)
def test_time_is_linear_in_the_length(unit):
    assert is_linear((unit * 4000)[:4000] + "!", (unit * 16000)[:16000] + "!")


def test_many_known_values_stay_linear():
    def text(count: int) -> str:
        return " ".join(f"order {100000 + n}" for n in range(count))

    assert is_linear(text(500), text(2000))
