"""Made-up sentences whose entities are known: what precision and recall are counted on.

``python tests/language/entity_samples.py`` prints the figures of
docs/notes/2026-11-22-entity-rules.md. The decoys hold numbers and codes that are no entities.
Nothing here is anybody's: all values are drawn.
"""

import random
import string
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dialogist.language.entities import find_entities

_PLATE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


@dataclass(frozen=True)
class Sample:
    """A sentence and the one entity in it; a decoy has no kind."""

    text: str
    kind: str = ""
    value: str = ""


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choices(string.digits, k=count))


def _letters(draw: random.Random, count: int) -> str:
    return "".join(draw.choices(_PLATE_LETTERS, k=count))


def _phone(draw: random.Random) -> str:
    area, office = draw.randint(201, 989), draw.randint(200, 999)
    forms = (
        f"({area}) {office}-{_digits(draw, 4)}",
        f"{area}-{office}-{_digits(draw, 4)}",
        f"+1 {area} {office} {_digits(draw, 4)}",
        f"{area}.{office}.{_digits(draw, 4)}",
        f"+44 20 {_digits(draw, 4)} {_digits(draw, 4)}",
        f"07{_digits(draw, 3)} {_digits(draw, 6)}",
        f"+49 30 {_digits(draw, 7)}",
        f"1{draw.choice('3589')}{_digits(draw, 9)}",
        f"1{draw.choice('3589')}{_digits(draw, 1)}-{_digits(draw, 4)}-{_digits(draw, 4)}",
        f"+86 1{draw.choice('3589')}{_digits(draw, 9)}",
        f"010-{draw.randint(2, 8)}{_digits(draw, 7)}",
        f"400-{_digits(draw, 3)}-{_digits(draw, 4)}",
    )
    return draw.choice(forms)


def card(draw: random.Random) -> str:
    """A card number with its Luhn digit, run together or in fours."""
    body = draw.choice("456") + _digits(draw, 14)
    total = sum(
        d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(map(int, body))
    )
    number = body + str(-total % 10)
    separator = draw.choice(("", " ", "-"))
    return separator.join(number[i : i + 4] for i in range(0, 16, 4))


def iban(draw: random.Random) -> str:
    """A German account with its check digits."""
    account = _digits(draw, 18)
    check = 98 - int(account + "131400") % 97
    number = f"DE{check:02}{account}"
    spaced = " ".join(number[i : i + 4] for i in range(0, 22, 4))
    return draw.choice((number, spaced))


def chinese_id(draw: random.Random) -> str:
    """An identity number with its check character."""
    body = f"{draw.randint(110000, 659000)}19{draw.randint(50, 99)}0{draw.randint(1, 9)}1"
    body += f"{draw.randint(0, 9)}{_digits(draw, 3)}"
    total = sum(w * int(d) for w, d in zip(_ID_WEIGHTS, body, strict=True))
    return body + "10X98765432"[total % 11]


def _time(draw: random.Random) -> str:
    month = draw.choice(("January", "Feb", "May", "July", "Sept.", "December"))
    day, year = draw.randint(1, 28), draw.randint(1990, 2030)
    hour, minute = draw.randint(1, 12), draw.randint(10, 59)
    forms = (
        *(f"{hour}:{minute}", f"{hour}:{minute} pm", f"{hour} p.m", f"{hour} o'clock"),
        *("half past six", "quarter to nine", "seven o'clock", f"{hour}am"),
        *(f"{year}-{draw.randint(1, 12):02}-{day:02}", f"{year}/1/{day}"),
        f"{year}-0{draw.randint(1, 9)}-{day:02} {hour:02}:{minute}:00",
        *(f"{month} {day}, {year}", f"{month} {day}th", f"{day} {month} {year}"),
        *(f"{day}/{draw.randint(1, 12)}/{year}", f"{day}.0{draw.randint(1, 9)}.{year}"),
        *(f"{year}年{draw.randint(1, 12)}月{day}日", f"{draw.randint(1, 12)}月{day}号"),
        *(f"下午{hour}点半", "晚上八点", f"早上{hour}:{minute}", f"{hour}点{minute}分"),
    )
    return draw.choice(forms)


def _amount(draw: random.Random) -> str:
    number = draw.randint(2, 9999)
    forms = (
        *(f"${number}", f"${number:,}.50", f"£{number}", f"€{number},", f"¥{number}"),
        *(f"{number} dollars", f"{number} euros", f"{number} USD", f"US${number}"),
        *("twenty-five dollars", "three hundred and fifty yuan", "two thousand dollars"),
        *(f"{number}元", f"{number}块钱", f"{number}.5元", "三百块", f"{number}万元", "$3 million"),
    )
    return draw.choice(forms).rstrip(",")


def _email(draw: random.Random) -> str:
    name = draw.choice(("ann.lee", "bo_smith99", "x", "first+tag", "wang-li"))
    return f"{name}@{draw.choice(('example.com', 'mail.example.co.uk', '163.com', 'uni.edu'))}"


def _url(draw: random.Random) -> str:
    forms = (
        f"https://example.com/a/{_digits(draw, 4)}?q=1&b=c#d",
        f"http://item.shop.cn/{_digits(draw, 6)}.html",
        *("www.example.org", "example.com", "shop.example.com/help", "ftp://files.example.net/x"),
    )
    return draw.choice(forms)


def _plate(draw: random.Random) -> str:
    forms = (
        f"{draw.choice('京沪粤苏浙鲁川')}{_letters(draw, 1)}{_digits(draw, 5)}",
        f"{draw.choice('京沪粤苏浙鲁川')}{_letters(draw, 1)}·D{_digits(draw, 5)}",
        f"{_letters(draw, 2)}{draw.randint(10, 72)} {_letters(draw, 3)}",
        f"{_letters(draw, 3)} {_digits(draw, 4)}",
        f"{draw.randint(1, 9)}{_letters(draw, 3)}{_digits(draw, 3)}",
        f"{_letters(draw, 3)}-{_digits(draw, 4)}",
    )
    return draw.choice(forms)


def _order(draw: random.Random) -> str:
    forms = (
        *(_digits(draw, 6), f"9{_digits(draw, 11)}", f"AB-{_digits(draw, 5)}"),
        *(f"{_letters(draw, 2)}{_digits(draw, 6)}", f"{_letters(draw, 3)}{_digits(draw, 3)}"),
    )
    return draw.choice(forms)


Maker = Callable[[random.Random], str]
_PHONE_FRAMES = ("Call me at {}.", "my number is {} ok?", "It's {}", "电话{}，谢谢", "我的手机是{}")
_KINDS: dict[str, tuple[Maker, tuple[str, ...]]] = {
    "PHONE": (_phone, _PHONE_FRAMES),
    "TIME": (_time, ("See you at {}.", "It was {} I think", "约在{}吧", "{}, then")),
    "AMOUNT": (_amount, ("That makes {}.", "I paid {} for it", "一共{}。", "退{}给您")),
    "EMAIL": (_email, ("Write to {}.", "my e-mail: {}, please", "邮箱是{}", "<{}>")),
    "URL": (_url, ("See {} for more", "go to {}.", "链接：{}", "({})")),
    "IP": (
        lambda draw: ".".join(str(draw.randint(1, 254)) for _ in range(4)),
        ("It pings {}.", "地址是{}"),
    ),
    "CARD": (card, ("The card is {}.", "it reads {}", "卡号{}")),
    "IBAN": (iban, ("My account is {}.", "send it to {} please", "IBAN: {}")),
    "PLATE_NUM": (_plate, ("My licence plate is {}.", "the plate number: {}", "车牌号是{}")),
    "ORDER": (
        _order,
        ("My order number is {}.", "order #{} please", "booking reference {}", "订单号：{}"),
    ),
    "TRIP": (
        lambda draw: draw.choice((f"G{_digits(draw, 3)}", f"D2{_digits(draw, 3)}")),
        ("Train {} is late.", "trip number {} please", "坐{}次列车", "车次{}"),
    ),
    "FLIGHT": (
        lambda draw: draw.choice(("CA", "BA", "UA", "MU", "LH")) + str(draw.randint(100, 9999)),
        ("I fly with {}.", "flight {} is full", "航班{}", "flight number {}"),
    ),
    "ID": (
        lambda draw: draw.choice(
            (chinese_id(draw), f"{draw.randint(100, 600)}-12-34{_digits(draw, 2)}")
        ),
        ("My ID is {}.", "it is {} I think", "身份证号{}"),
    ),
}
_DECOYS = (
    *("I have {n} cats.", "It is {n}% cheaper", "room {n} please", "{n} people, 3 rooms", "24/7"),
    *("page {n} of 300", "I'm {n} years old", "chapter 3, verse {n}", "{n} degrees", "COVID-19"),
    *("one of the two is fine", "I may call you", "we won 3 to 1", "MP3 and H1N1", "version 2.4"),
    *("{n} kilometres away", "the A380 and a 747", "in aisle 4", "size 42", "a dozen orders"),
    *(
        "order two pizzas",
        "my order is late",
        "the car is red",
        "flight is late",
        "{n}个人",
        "第{n}页",
    ),
    *(
        "买了{n}件",
        "请等{n}分钟",
        "一点问题都没有",
        "你有什么建议",
        "三个订单",
        "我不知道号码",
        "50% off",
    ),
    *(
        "the plate is hot",
        "call me back in {n} minutes",
        "a ticket for {n}",
        "ID please",
        "I.e. this",
    ),
)


def samples(count: int, seed: int = 1) -> Iterator[Sample]:
    """``count`` samples of each kind and three times as many decoys."""
    draw = random.Random(seed)
    for kind, (make, frames) in _KINDS.items():
        for _ in range(count):
            value = make(draw)
            yield Sample(draw.choice(frames).format(value), kind, value)
    for _ in range(3 * count):
        yield Sample(draw.choice(_DECOYS).format(n=draw.randint(2, 180)))


@dataclass
class Score:
    """Counts of one kind: mentions there, found exactly and rightly, and claimed at all."""

    there: int = 0
    right: int = 0
    claimed: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.claimed)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.there)


def score(count: int = 1000, seed: int = 1) -> tuple[dict[str, Score], Counter[str]]:
    """Scores by kind, exact spans and kinds only; and what was claimed in decoys."""
    scores = {kind: Score() for kind in _KINDS}
    wrong: Counter[str] = Counter()
    for sample in samples(count, seed):
        if sample.kind:
            scores[sample.kind].there += 1
        for span in find_entities(sample.text):
            value = sample.text[span.start : span.end]
            scores[span.kind].claimed += 1
            if (span.kind, value) == (sample.kind, sample.value):
                scores[span.kind].right += 1
            else:
                wrong[f"{span.kind}: {sample.text}"] += 1
    return scores, wrong


if __name__ == "__main__":
    table, mistakes = score()
    print("| kind | precision | recall |\n|---|---|---|")
    for kind, one in table.items():
        print(f"| {kind} | {100 * one.precision:.1f} | {100 * one.recall:.1f} |")
    print(*mistakes.most_common(40), sep="\n")
