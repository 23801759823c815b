"""Dialogues that nobody would write, made by chance: a seed and a number always give the same."""

import random
from collections.abc import Callable, Sequence

from dialogist import Dialogue, Utterance

_TURNS = """Hi, can I borrow fifty dollars until Friday?
Sure, but I need it back before noon.
The invoice 4711 was paid twice, can you check it, please?
I'm sorry, we will return the second payment today.
My number is 415-555-0132, and my email is ann.lee@example.com.
Let's meet at Luigi's at half past seven. Is 7:30 pm fine?
Doctor, I have had a headache since Monday, and I took two pills.
It costs $1,500 or 1.299,00 EUR; I won't pay more than that!
No, Anna never said that Bob wants to leave Berlin on 12/05/2023.
Thank you very much for your help. Bye!
#Person1# told #Person2# about the dog: https://example.org/a?b=c
用户询问订单，客服回答请放心。 我们下周二见。
Ich möchte morgen kommen, aber der Zug ist zu spät.
What time does the train leave, and who is coming with us?
At nine. Not me.
Tea or coffee? Would you like me to call you back?
Coffee, please. Yes, call me at 5.
Could you send me the form, and tell Bob that I'm late?
Don't worry about it, I'll do it myself tomorrow.
Why don't we take the bus? You can't be serious...
Nope. Yes, I have. Neither do I, my sister does.
brb, gotta feed the cat lol :) u coming 2nite??
If it rains, we'll stay at home, won't we? My wife's birthday is next Friday!!
ok"""
TURNS = _TURNS.split("\n")
NAMES = """Ann Bo Carla Agent Customer #Person1# #Person2# User System Dr.&nbsp;Lee O'Brien I A 客服
Ann&nbsp;Lee Anna Person1 4711 [Bot] Mr.*(x) Will May Bob:Jr"""
SPEAKERS = [name.replace("&nbsp;", " ") for name in NAMES.split()]
SIGNS = "/.,;:-–—' %$€£x°½²³٣१〇一百\u2212\u00a0"
_AFTER = "|k|m|bn| million| hundred|%| percent| dollars|€| pm| o'clock|th|st| 1/2|½"
AFTER = _AFTER.split("|")
ODD = (
    "\u0000\u0007\u001b[31m\u0085\u00ad\u0130\u0131\u017f\u0301\u0345\u200b\u200d\u200e\u202e\u2028"
    "\u2060\u3000\u3164\ufeff\ufffd\uffff\U0001f469\u200d\U0001f4bb\U0001f1e9\U0010f000\U0010f005"
    "\U0010f01f\U0010f123\U0010ffff\ud83d\udc00\U0001d7d8\ufb03\u1e9e\u01c6\u2126\u212a"
)
PLANES = ((0x20, 0x2FF), (0x300, 0x36F), (0x370, 0x1FFF), (0x2000, 0x2BFF), (0x3000, 0x9FFF))
PLANES = (*PLANES, (0xA000, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF))
PLANES = (*PLANES, (0x20000, 0x3FFFF), (0xE0000, 0xEFFFF), (0xF0000, 0x10FFFF))

Chance = random.Random
MANY = 110


def case_of(seed: int | str, number: int) -> Dialogue:
    """Dialogue ``number`` of a run."""
    chance = random.Random(f"{seed}:{number}")
    text_of = _text_maker(chance)
    speakers, count = _speakers(chance), _count(chance)
    if count > MANY and text_of in (_long, _any):  # megabytes
        text_of = _short
    turns = [
        Utterance(chance.choice(speakers), text_of(chance), chance.choice(("", "", "agent")))
        for _ in range(count)
    ]
    return Dialogue(turns, id=_identity(chance, number))  # type: ignore[arg-type]


def _count(chance: Chance) -> int:
    """Mostly few turns; now and then as many as make windows, and hundreds or thousands."""
    draw = chance.random()
    if draw < 0.001:
        return chance.randint(300, 3000)
    if draw < 0.02:
        return chance.randint(20, MANY)
    return chance.choice((0, 1, 2, 2, 3, 3, 4, 5, 6, 8))


def _speakers(chance: Chance) -> Sequence[str]:
    draw = chance.random()
    if draw < 0.01:
        return [f"Speaker {number}" for number in range(chance.randint(30, 400))]
    if draw < 0.1:
        return [_odd_name(chance) for _ in range(chance.randint(1, 5))]
    return chance.sample(SPEAKERS, chance.randint(1, 4))


def _odd_name(chance: Chance) -> str:
    kinds: tuple[Callable[[], str], ...] = (
        lambda: "",
        lambda: _characters(chance, chance.randint(1, 12)),
        lambda: chance.choice(TURNS),
        lambda: chance.choice("abż我😀") * chance.choice((2, 40, 700)),
        lambda: f"{chance.choice(SPEAKERS)} " * chance.choice((1, 2, 60)),
        lambda: f" {chance.choice(SPEAKERS)}\n",
    )
    return chance.choice(kinds)()


def _identity(chance: Chance, number: int) -> str:
    return chance.choice((str(number), "", "a/b c", f"{number}\ud83d", "\x1b[31m", "京都 9"))


def _text_maker(chance: Chance) -> Callable[[Chance], str]:
    """What the turns of a dialogue are made of: of one kind, or of all."""
    kinds = (_plain, _plain, _numbers, _odd, _changed, _long, _any)
    return chance.choice(kinds)


def _any(chance: Chance) -> str:
    return chance.choice((_plain, _numbers, _odd, _changed, _long))(chance)


def _short(chance: Chance) -> str:
    return chance.choice(("ok", "yes", "no, Bo", number(chance)[:12]))


def _plain(chance: Chance) -> str:
    return " ".join(chance.choices(TURNS, k=chance.choice((1, 1, 1, 2, 3))))


def number(chance: Chance) -> str:
    """A number in some notation, or nearly one."""
    digits = [
        str(chance.randrange(10 ** chance.randint(1, 4))) for _ in range(chance.randint(1, 4))
    ]
    text = digits[0]
    for more in digits[1:]:
        text += chance.choice(SIGNS) + chance.choice(("", "", " ")) + more
    if chance.random() < 0.02:
        text += "9" * 400
    return chance.choice(("", "", "$", "-", "~", "#", "No. ")) + text + chance.choice(AFTER)


def _numbers(chance: Chance) -> str:
    words = _plain(chance).split(" ")
    for _ in range(chance.randint(1, 4)):
        words[chance.randrange(len(words))] = number(chance)
    return " ".join(words)


def _characters(chance: Chance, count: int) -> str:
    if chance.random() < 0.3:
        return "".join(chance.choices(ODD, k=count))
    first, last = chance.choice(PLANES)
    return "".join(chr(chance.randint(first, last)) for _ in range(count))


def _odd(chance: Chance) -> str:
    text = _plain(chance)
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(text) + 1)
        text = text[:place] + _characters(chance, chance.randint(1, 6)) + text[place:]
    return text


def _changed(chance: Chance) -> str:
    """A turn with letters lost, doubled, swapped, and in other cases."""
    letters = list(_plain(chance))
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(len(letters))
        one = letters[place]
        letters[place] = chance.choice(
            ("", one * 2, one.upper(), one.swapcase(), "\n", " ", ":", one)
        )
    return "".join(letters)


def _long(chance: Chance) -> str:
    """Long words, and what is said again and again."""
    kinds: tuple[Callable[[], str], ...] = (
        lambda: chance.choice("xż我😀\u0301İ1") * chance.choice((30, 300, 1500)),
        lambda: _plain(chance) * chance.choice((2, 10)),
        lambda: " ".join(number(chance) for _ in range(chance.choice((10, 60)))),
        lambda: _characters(chance, 200),
        lambda: chance.choice("!?.,-\"'([{ \n\t") * 300,
    )
    return chance.choice(kinds)()
