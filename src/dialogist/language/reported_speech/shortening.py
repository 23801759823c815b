"""Reports in fewer words that say the same: "has to" is "must", "two hundred and five" is "205"."""

import re

from dialogist.language.quantities import NUMBER_WORDS, ORDINALS, SCALES, TENS, UNITS, number_values
from dialogist.language.reported_speech.morphology import is_base

# "What they have to offer" is no duty, and nobody "will must go".
_DUTY = re.compile(
    r"\b(?:has|have) to (?=[a-z])(?!(?:say|offer|show|lose|tell|have)\b)(?!do with\b)"
)
_NO_DUTY = re.compile(
    r"(?i)\b(?:not|will|would|might|may|can|could|should|must|never|to|do|does|did|what|all|has|have"
    r"|who|is|are|be|[a-z]+['’](?:d|ll)) "
    r"(?:(?:\w+ly|even|ever|also|still|always|often|just|yet|then) )*$"
)
_GOING_TO = re.compile(r"(?<!\bif )(?<!\bwhen )\b(?:is|are) (not )?going to (?=([a-z]+)\b)")
_IN_CONDITION = re.compile(r"(?i)\b(?:if|when|unless|until|once)\b")
_WISH = re.compile(
    r"(?P<subject>[\w.#'’]+) would like "
    r"(?=(?:to|a|an|the|their|some|another|one|two|three|[A-Z][\w.]*)\b)(?!to have \w+ed\b)"
)
_EMPHASIS = re.compile(
    r"\b(?:really|actually|simply|definitely|certainly|basically|honestly|absolutely|literally) "
    r"(?=[a-z])(?!(?:not|never|just|like|enough|only)\b)"
)
_JUST = re.compile(r"(?<=\b(?:will|must) )just (?=[a-z])")
_NOBODY = re.compile(r"(?i)\b(?:nobody|nothing|none|no|neither|never|hardly|few)\b")
_DENIES = re.compile(r"\b(?:not|never|cannot|nobody|nothing|no|hardly|whether|whose|how|without)\b")
_TOO = re.compile(r",? (?:too|as well)$")

_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_TEN = "|".join(TENS)
_BELOW_100 = rf"(?:(?:{_TEN})[ -](?:{_UNIT})|{_TEN}|{_UNIT})"
_DIGIT = "(?:one|two|three|four|five|six|seven|eight|nine)"
_REST = rf"(?: (?:and )?{_BELOW_100}\b(?!-))?+"
_LARGE = re.compile(
    r"(?<![\w.-])"
    + "".join(rf"(?<!\b{word} )" for word in ("or", "to", "point", "hundred", "thousand"))
    + rf"(?:(?:{_BELOW_100}|a) thousand\b(?: {_DIGIT} hundred\b)?+{_REST}"
    rf"|(?:{_BELOW_100}|an?) hundred\b{_REST}(?: thousand\b)?+)"
    rf"(?! (?:or|hundred|thousand|million|percent|times|to|past|point|{_BELOW_100})\b)"
    rf"(?! and (?:a half|{_BELOW_100}))(?![\w-])",
    re.IGNORECASE,
)
_IN = re.compile(r"(?i)\b(?:in|since|until|till|from|after|before|by) $")
_AMOUNT = re.compile(
    r"(?<![\w.,$€£-])(?<!\bor )(?<!\bto )(?<!\band )(?<!\bpoint )(?<!\bhundred )(?<!\bthousand )"
    rf"(?P<n>\d[\d,.]*\d|\d|{_BELOW_100}) (?P<unit>euros?|dollars?|per ?cent)\b"
    rf"(?! (?:\d|{_BELOW_100}))",
    re.IGNORECASE,
)
_SIGNS = {"e": "€{}", "d": "${}", "p": "{}%"}
_HOURS = {word: value for word, value in UNITS.items() if 1 <= value <= 12}
_CLOCK = re.compile(
    r"(?<![\w-])(?P<minutes>half|(?:a )?quarter|five|ten|twenty|twenty-five) (?P<side>past|to) "
    rf"(?P<hour>{'|'.join(_HOURS)})\b",
    re.IGNORECASE,
)
_MINUTES = {"half": 30, "quarter": 15, "a quarter": 15, "twenty-five": 25, **_HOURS, "twenty": 20}
_AT = re.compile(r"(?i)\b(?:at|by|till|until|before|after|since) $")


def shortened(told: str) -> str:
    """A report in fewer words; what it quotes stays."""
    own, mark, quoted = told.partition("“")
    own = _LARGE.sub(_in_digits, _CLOCK.sub(_on_the_clock, own))
    own = _AMOUNT.sub(_with_sign, own)
    own = _GOING_TO.sub(_will, own)
    own = _WISH.sub(_wants, own)
    if not _NOBODY.search(own):
        own = _DUTY.sub(_must, own)
    if not _DENIES.search(own):
        own = _JUST.sub("", _EMPHASIS.sub("", own))
        own = own if mark else _TOO.sub("", own)
    return own + mark + quoted


def _must(duty: re.Match[str]) -> str:
    return duty[0] if _NO_DUTY.search(duty.string[: duty.start()]) else "must "


def _will(future: re.Match[str]) -> str:
    before = future.string[: future.start()]
    if not is_base(future[2]) or _IN_CONDITION.search(before):
        return future[0]
    return f"will {future[1] or ''}"


def _wants(wish: re.Match[str]) -> str:
    """ "Ann would like to go" as "Ann wants to go"; left alone where the number is not sure."""
    subject = wish["subject"]
    if wish.string[: wish.start()].endswith("asks whether "):
        return wish[0]  # an offer
    if subject in ("and", "who", "people", "also") or re.fullmatch(r"[a-z]+[^\Wsu]s", subject):
        return wish[0]
    return f"{subject} want " if subject.lower() == "they" else f"{subject} wants "


def _in_digits(number: re.Match[str]) -> str:
    """ "Four thousand two hundred" as "4,200"; left alone where it may be several numbers."""
    words = re.findall(r"[a-z]+", number[0].lower())
    values = number_values([word for word in words if word in NUMBER_WORDS or word in SCALES])
    is_year = 1900 <= values[0] < 2100 and _IN.search(number.string[: number.start()])
    if len(values) != 1 or is_year or any(word in ORDINALS for word in words):
        return number[0]
    return f"{int(values[0]):,}"


def _with_sign(amount: re.Match[str]) -> str:
    number = amount["n"].lower()
    if not number[0].isdigit():
        values = number_values(re.findall(r"[a-z]+", number))
        if len(values) != 1:
            return amount[0]
        number = str(int(values[0]))
    return _SIGNS[amount["unit"][0].lower()].format(number)


def _on_the_clock(time: re.Match[str]) -> str:
    """ "Half past four" as "4:30"."""
    minutes, hour = _MINUTES[time["minutes"].lower()], _HOURS[time["hour"].lower()]
    if time["side"].lower() == "to":
        is_sure = minutes == 15 or _AT.search(time.string[: time.start()])
        if not is_sure or minutes == 30:
            return time[0]  # "takes ten to twelve days"
        hour, minutes = hour - 1 or 12, 60 - minutes
    return f"{hour}:{minutes:02}"
