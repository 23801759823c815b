"""Made-up dialogues whose personal data is known: sentences with values, and distractors.

A dialogue is in one language and has a value in about every other turn; the distractors are
numbers, codes, dates and capitals that are nobody's data. Some values only answer a question.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import privacy_people as people
import privacy_values as values
from privacy_questions import EN_ANSWERS, EN_ASKED, ZH_ANSWERS, ZH_ASKED
from privacy_values import Maker

from dialogist.records import Dialogue, Utterance

Frames = tuple[Maker, tuple[str, ...]]


@dataclass(frozen=True)
class Gold:
    """A value that has to be masked: characters ``start`` to ``end`` of an utterance's text."""

    utterance: int
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Sample:
    """A dialogue and its personal data."""

    dialogue: Dialogue
    gold: tuple[Gold, ...]


EN: dict[str, Frames] = {
    "PHONE": (
        values.phone_en,
        ("Call me at {}.", "my number is {}, ok?", "It's {}", "You can text {} any time.", "{}"),
    ),
    "EMAIL": (
        values.email,
        ("Write to {}.", "my e-mail: {}, please", "it was sent to {} yesterday", "<{}>", "{}"),
    ),
    "CARD": (
        values.card,
        (
            "The card is {}.",
            "It reads {}, right?",
            "I'd like to pay with {}",
            "{}",
            "use {} please",
        ),
    ),
    "IBAN": (
        values.iban,
        ("My account is {}.", "Please send it to {}, thanks.", "IBAN: {}", "{}", "from {} I think"),
    ),
    "SSN": (values.ssn, ("It's {}.", "My social is {}.", "SSN {}, please.", "{}")),
    "NINO": (
        values.nino,
        ("It's {}.", "National insurance number {}", "My NI number is {}.", "{}"),
    ),
    "PASSPORT": (
        values.passport,
        ("My passport number is {}.", "passport {} please", "The passport no. is {}, issued here."),
    ),
    "ID": (
        values.account,
        (
            *("My account number is {}.", "customer number {}", "It's member ID number {}."),
            *("The policy number: {}", "my employee number is {}, I think", "client no. {}"),
        ),
    ),
    "ORDER": (
        values.order,
        (
            *(
                "My order number is {}.",
                "order #{} please",
                "booking reference {}",
                "ticket no. {}",
            ),
            *("It's about invoice number {}.", "The tracking number is {}, they said."),
        ),
    ),
    "CODE": (values.code, ("It reads {}.", "There is {} on the label", "{}", "I have {} here.")),
    "SECRET": (
        values.secret,
        ("The CVV is {}.", "my PIN is {}", "verification code: {}", "The security code is {}, ok?"),
    ),
    "PLATE_NUM": (
        values.plate_en,
        (
            *("My licence plate is {}.", "the plate number: {}", "The car's registration is {}."),
            *("number plate {} please", "It's a red van, {}, near the gate."),
        ),
    ),
    "IP": (
        values.ip,
        ("It pings {}.", "They log in from {} every day.", "the address is {}", "{}"),
    ),
    "ADDRESS": (
        people.address_en,
        ("Send it to {}.", "I live at {}, you know.", "My address is {}.", "Is {} correct?", "{}"),
    ),
    "POSTCODE": (
        lambda draw: draw.choice((people.postcode_uk, people.zip_code))(draw),
        ("The postcode is {}.", "zip code {}", "ZIP: {}, please", "my post code: {}"),
    ),
    "BIRTH_DATE": (
        people.birth_en,
        (
            "I was born on {}.",
            "Date of birth: {}",
            "My birthday is {}.",
            "DOB {}",
            "born {} in Leeds",
        ),
    ),
}
ZH: dict[str, Frames] = {
    "PHONE": (
        values.phone_zh,
        ("我的电话是{}。", "请打{}，谢谢", "手机号{}", "{}", "您记一下{}吧"),
    ),
    "EMAIL": (values.email, ("邮箱是{}。", "发到{}就行", "我的邮箱：{}", "{}")),
    "CARD": (values.card, ("卡号是{}。", "用{}付款", "我的银行卡{}", "{}")),
    "IBAN": (values.iban, ("汇到{}。", "账户是{}，谢谢", "{}")),
    "RESIDENT_ID": (values.resident_id, ("身份证号是{}。", "我的身份证{}", "{}", "号码是{}，对吗")),
    "PASSPORT": (values.passport, ("护照号码是{}。", "我的护照号：{}", "护照{}")),
    "ID": (
        values.account,
        ("会员号码是{}。", "账号：{}", "我的客户编号是{}，请查一下", "工号{}"),
    ),
    "ORDER": (
        values.order,
        ("订单号是{}。", "订单号：{}，请查一下", "快递单号{}", "我的订单编号是{}"),
    ),
    "CODE": (values.code, ("上面写的是{}。", "{}", "就是{}这个")),
    "SECRET": (values.secret, ("验证码是{}。", "密码：{}", "我收到的验证码{}")),
    "PLATE_NUM": (values.plate_zh, ("车牌是{}。", "我的车是{}", "{}", "那辆{}的车")),
    "IP": (values.ip, ("地址是{}。", "从{}登录的", "{}")),
    "ADDRESS": (
        people.address_zh,
        ("我住在{}。", "地址是{}，谢谢", "请寄到{}", "{}", "送到{}就可以了", "收货地址：{}"),
    ),
    "POSTCODE": (
        lambda draw: values.fill(draw, "Nnnnnn"),
        ("邮编是{}。", "邮政编码：{}", "邮编{}"),
    ),
    "BIRTH_DATE": (
        people.birth_zh,
        ("我的生日是{}。", "出生日期：{}", "我是{}出生的", "生于{}"),
    ),
}
EN_NAMES: Frames = (
    people.person_en,
    ("My name is {}.", "I spoke to {} last week.", "Hi {}, how are you?", "Ask Mr. {} about it."),
)
ZH_NAMES: Frames = (
    people.person_zh,
    ("我叫{}。", "收件人：{}", "联系人是{}，谢谢", "我和{}说过了"),
)
EN_DISTRACTORS = (
    *(
        "I have {n} cats.",
        "It is {n}% cheaper in {y}.",
        "It costs ${n},{m}.50 now.",
        "Room {n} please.",
    ),
    *("They won {n}-{k} in {y}.", "We sold {m}{n},{m} of them.", "Version {k}.{n}.{m} is out."),
    *("See you at {k}:30 pm on May {k}.", "He was here on {k}/{k}/{y}.", "Chapter {k}, verse {n}."),
    *("Flight BA{m} leaves at {k}:45.", "Train {n} is late.", "In {y} Wall Street was calm."),
    *("From {y} to {y} I lived abroad.", "I need {n} copies of page {m}.", "It has {n} GB of RAM."),
    *("The A380 beats the 747-400.", "Windows 10.0.1904{k}.{n} it is.", "H1N1, MP3 and COVID-19."),
    *(
        "The score was {m}-{m}-{n}.",
        "Driver version 10.{k}.{n}.{k} fails.",
        "It weighs {n}.{m} kg.",
    ),
    *("There are {k},{m},{m} people.", "Call me back in {n} minutes.", "My order is late again."),
    *(
        "The card was declined.",
        "The password is wrong.",
        "My passport is somewhere.",
        "24/7, 365 days",
    ),
    *(
        "I walked {n} miles down the road.",
        "It's a {n} minute drive.",
        "{n} Street musicians came.",
    ),
    *(
        "It was built in {y}.",
        "ISO 9001:2015 says so.",
        "Take bus {n} or the M{n}.",
        "Section {m}(c)",
    ),
    *(
        "I scored {m} out of {m}0.",
        "Add {n}, {m} and {y}.",
        "{n} x {k} is {m}.",
        "3.14159265 or so",
    ),
    *(
        "Pin it at the top.",
        "The plate is hot.",
        "Lottery: 4, 8, 15, 16, 23, 42",
        "Size {n}, please.",
    ),
    *("The ratio is {n}:{m}.", "We paid {m} euros for {n} of them.", "Half past {k}, room {m}B."),
    *(
        "It's {n} degrees, {k} below normal.",
        "They have {m} orders and {n} tickets.",
        "1080p at {n} Hz",
    ),
)
ZH_DISTRACTORS = (
    *("我买了{n}件。", "一共{m}元。", "请等{n}分钟。", "{y}年的时候", "第{n}页", "比分是{n}比{k}"),
    *(
        "坐{k}号线",
        "走中山路{m}米",
        "下午{k}点半见",
        "{k}月{k}号发货",
        "便宜了{n}%",
        "版本{k}.{n}.{m}",
    ),
    *("人口有{m}万", "G{m}次列车", "航班CA1{m}", "密码错了{k}次", "我不知道号码", "三个订单"),
    *("一二三四五", "这个小区很好", "路口的{k}号店", "尺码{n}", "总共{m},{m}个", "{n}平方米"),
)


def samples(language: str, count: int, seed: int, names: bool = False) -> Iterator[Sample]:
    """``count`` dialogues of a language (``en``, ``zh``); with ``names`` these are the values."""
    draw = Random(f"{language}-{seed}-{names}")
    frames = EN if language == "en" else ZH
    if names:
        frames = {"PERSON": EN_NAMES if language == "en" else ZH_NAMES}
    kinds = sorted(frames)
    for number in range(count):
        building = _Building(draw, language)
        for i in range(draw.randint(4, 10)):
            kind = kinds[(number + i) % len(kinds)]
            if draw.random() < 0.5:
                building.distract()
            elif kind in building.asked and draw.random() < 0.3:
                building.answer(kind, frames[kind][0](draw))
            else:
                building.say(draw.choice(frames[kind][1]), kind, frames[kind][0](draw))
        yield Sample(
            Dialogue(tuple(building.turns), id=f"{language}-{number}"), tuple(building.gold)
        )


class _Building:
    """A dialogue that grows turn by turn."""

    def __init__(self, draw: Random, language: str) -> None:
        english = language == "en"
        self.turns: list[Utterance] = []
        self.gold: list[Gold] = []
        self.asked = EN_ASKED if english else ZH_ASKED
        self._draw = draw
        self._answers = EN_ANSWERS if english else ZH_ANSWERS
        self._distractors = EN_DISTRACTORS if english else ZH_DISTRACTORS
        self._speakers = ("Agent", "Customer") if english else ("客服", "用户")

    def say(self, frame: str, kind: str, value: str) -> None:
        """A sentence with a value."""
        start = frame.index("{}")
        self.gold.append(Gold(len(self.turns), start, start + len(value), kind))
        self._turn(frame.replace("{}", value))

    def answer(self, kind: str, value: str) -> None:
        """A question, and a value that only it tells the kind of."""
        self._turn(self._draw.choice(self.asked[kind]))
        self.say(self._draw.choice(self._answers), kind, value)

    def distract(self) -> None:
        """A sentence with numbers that are nobody's."""
        draw = self._draw
        small, large, year = draw.randint(2, 99), draw.randint(100, 999), draw.randint(1950, 2029)
        frame = draw.choice(self._distractors)
        self._turn(frame.format(n=small, m=large, k=draw.randint(1, 9), y=year))

    def _turn(self, text: str) -> None:
        self.turns.append(Utterance(self._speakers[len(self.turns) % 2], text))
