"""What entities look like: one `Rule` a form, in order of precedence where two fit equally."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dialogist.tokenizers.special_tokens import ANY_ENTITY

# Check digits and other arithmetic that tells an entity from a number that looks like one.
#
# Each takes the text of a candidate and says yes or no.


_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_PHONE_DIGITS = (7, 15)  # E.164 allows 15 digits; shorter than 7 is an extension


def digits_of(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(c for c in text if "0" <= c <= "9")


def luhn(text: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1): 13 to 19 digits, the first one 2 to 6."""
    digits = digits_of(text)
    if not 13 <= len(digits) <= 19 or digits[0] not in "23456":
        return False
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def iban(text: str) -> bool:
    """The check digits of a bank account (ISO 13616): the number modulo 97 is 1."""
    compact = text.replace(" ", "").upper()
    if not 15 <= len(compact) <= 34:
        return False
    turned = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def chinese_id(text: str) -> bool:
    """The last character of a Chinese identity number (GB 11643: ISO 7064, MOD 11-2)."""
    total = sum(w * int(d) for w, d in zip(_ID_WEIGHTS, text[:17], strict=True))
    return "10X98765432"[total % 11] == text[17].upper()


def social_security(text: str) -> bool:
    """An area, group and serial number that the USA could have given out."""
    area, group, serial = text.split("-")
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def ip_address(text: str) -> bool:
    """A complete IPv4 or IPv6 address (a time such as 12:30:45 is none)."""
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return len(text) > 4  # "::" and "::1" are addresses to a machine only


def phone_length(text: str) -> bool:
    """As many digits as a telephone number can have."""
    shortest, longest = _PHONE_DIGITS
    return shortest <= len(digits_of(text)) <= longest


def day_and_month(text: str) -> bool:
    """Two numbers before the year that can be a day and a month, in either order."""
    one, other = (int(part) for part in text.replace("-", "/").replace(".", "/").split("/")[:2])
    return 0 < min(one, other) <= 12 and max(one, other) <= 31


def looks_issued(text: str) -> bool:
    """Letters and digits mixed as no word is: at least four digits, a letter, eight in all."""
    digits = len(digits_of(text))
    letters = sum(c.isalpha() for c in text)
    return digits >= 4 and letters >= 1 and digits + letters >= 8


def has_digits(text: str, least: int = 2) -> bool:
    """At least ``least`` digits: a word after a cue is no number."""
    return len(digits_of(text)) >= least


# How dates and times of day are written: the patterns of the kind TIME, English and Chinese.
#
# Only what names a point in time by number is one: "5 May", "half past six", "下午三点". Words that
# shift with the day of speaking ("tomorrow", "Monday", "下周") are not: they are ordinary words.
# All patterns are for case-insensitive use.


_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH_NUMBER = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
# "may" and "march" are words, too: as months they begin with a capital letter.
_MONTH = (
    r"(?:(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?-i:Mar))(?![a-z])\.?|(?-i:May|MAY|March|MARCH))"
)
_SPOKEN_HOUR = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_END = r"(?![A-Za-z])"  # not \b: Chinese characters are letters to it
# am, p.m. The last dot is the sentence's own where the sentence ends there.
_HALF = rf"(?: ?[ap](?:m|\.m(?:\.(?=[,;)]| (?-i:[a-z])))?){_END})"
_CLOCK = rf"(?:2[0-3]|[01]?[0-9])[:：][0-5][0-9](?:[:：][0-5][0-9](?:\.[0-9]{{1,6}})?)?{_HALF}?"

SPOKEN_TIMES = (
    rf"(?:(?:1[0-2]|0?[1-9])(?:[.:][0-5][0-9])?|{_SPOKEN_HOUR}){_HALF}",
    rf"(?:1[0-2]|0?[1-9]|{_SPOKEN_HOUR}) o['’]? ?clock{_END}",
    rf"(?:half past|(?:a )?quarter (?:past|to)) (?:1[0-2]|[1-9]|{_SPOKEN_HOUR}{_END})",
)
"""English times of day as they are said: "5 pm", "seven o'clock"."""

_HAN_NUMBER = r"(?:[0-9]{1,2}|[一二两三四五六七八九十]{1,3})"
_HAN_PART = r"(?:凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|半夜)"
_HAN_MINUTES = rf"(?:半|整|[一三]刻|零?{_HAN_NUMBER}分?)"
_HAN_CLOCKS = (
    rf"{_HAN_PART}{_HAN_NUMBER}[点时](?:{_HAN_MINUTES}|钟)?",
    rf"{_HAN_PART}{_CLOCK}",
    r"[0-9]{1,2}[点时](?:[0-9]{1,2}分?(?:[0-9]{1,2}秒)?|半|钟|整|[一三]刻)",
)
_HAN_DATES = (
    rf"(?:{_YEAR}|[0-9]{{2}})年{_MONTH_NUMBER}月(?:{_DAY}[日号]?)?",
    rf"{_MONTH_NUMBER}月{_DAY}[日号]?",
    rf"{_YEAR}年",
    r"[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号]",
)
HAN_TIMES = (
    rf"(?:{'|'.join(_HAN_DATES)}) ?(?:{'|'.join(_HAN_CLOCKS)}|{_CLOCK})",
    *_HAN_DATES,
    *_HAN_CLOCKS,
)
"""Chinese dates and times of day; a date with its time of day is one."""

TIMES = (
    _CLOCK,
    rf"{_MONTH} {_DAY}(?:st|nd|rd|th)?(?![a-z0-9])(?:,? {_YEAR})?",
    rf"{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?",
    rf"{_MONTH},? {_YEAR}",
)
"""Times of the clock, and dates with English months."""

_ISO = rf"{_YEAR}(?P<dash>[-/.]){_MONTH_NUMBER}(?P=dash){_DAY}"
ISO_TIME = rf"{_ISO}(?:[T ,]{{1,2}}{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
"""2024-05-12, with or without a time of day."""

NUMERIC_DATE = r"[0-9]{1,2}(?P<dash>[-/.])[0-9]{1,2}(?P=dash)(?:(?:19|20)[0-9]{2}|[0-9]{2})"
"""05/12/2024 and the like: whether two of its numbers are day and month has to be checked."""

CUED_DATE = r"[0-9]{1,2}/[0-9]{1,2}"
"""5/12 after "on", "by", "until" ...: to be checked, too."""


# Every quantifier that can meet a long run of text has a bound, and no two neighbouring ones share
# characters without one, so a text is searched in time proportional to its length.


# Latin letters, digits and masks border an entity; Chinese characters do not: no spaces there.
_EDGE = f"0-9A-Za-z_{ANY_ENTITY}"
BEFORE = f"(?<![{_EDGE}])"
AFTER = f"(?![{_EDGE}])"
_NO_FRACTION = f"(?<![0-9{ANY_ENTITY}][.,:：])"  # not the ".50" of "12.50"


_DIGIT = re.compile("[0-9]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One form of one kind; the entity is the group ``v``.

    ``check`` sees its text. ``cued`` rules know the value by a word before it; the same value
    elsewhere, without that word, is the same entity. A text without ``needs`` holds none.
    """

    kind: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    cued: bool = False
    needs: re.Pattern[str] = _DIGIT

    def search(self, text: str, start: int) -> re.Match[str] | None:
        """The first entity of this form that begins at ``start`` or later."""
        position = start
        while found := self.pattern.search(text, position):
            if self.check is None or self.check(found["v"]):
                return found
            position = found.start() + 1
        return None


def _plain(
    kind: str, value: str, check: Callable[[str], bool] | None = None, needs: str = "[0-9]"
) -> Rule:
    pattern = re.compile(f"{BEFORE}{_NO_FRACTION}(?P<v>{value}){AFTER}", re.I)
    return Rule(kind, pattern, check, needs=re.compile(needs))


_LINKS = r"is|was|are|at|on|to|as|of|it's"
_GLUE = rf"(?:[ ]?(?:(?:{_LINKS})(?![a-z0-9])|[:：#=(（\"“'‘]|号|是|为|即)){{0,3}}[ ]?"


def _after(
    kind: str, cue: str, value: str, check: Callable[[str], bool] | None = None, glue: str = _GLUE
) -> Rule:
    pattern = f"(?<![A-Za-z{ANY_ENTITY}](?=[a-z]))(?:{cue}){glue}(?P<v>{value}){AFTER}"
    return Rule(kind, re.compile(pattern, re.I), check, cued=True)


_NUMBER = (
    r"(?:[ ]?(?:(?:numbers?|codes?|ids?|(?:num|no|nr)\.?)(?![a-z])|\#|"
    r"号码|编号|单号|代码|[号码])){1,3}"
)
_CODE = r"(?:[0-9]{3,8}(?:[ -][0-9]{3,8}){1,4}|[A-Z0-9]{1,24}(?:-[A-Z0-9]{1,12}){0,4})"
_GROUPED = r"[0-9](?:[ -]?[0-9]){11,18}"
_CARD = r"[0-9]{4}(?:[ -][0-9]{4}){3}(?:[ -][0-9]{3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{5}"


def _three(text: str) -> bool:
    return has_digits(text, 3)


def _long(text: str) -> bool:
    return has_digits(text, 5) or (len(text) >= 5 and has_digits(text, 2))


def _numbered(kind: str, cue: str) -> Rule:
    """``order number 123``: three digits do."""
    return _after(kind, f"(?:{cue}){_NUMBER}", _CODE, _three)


def _bare(kind: str, cue: str) -> Rule:
    """``order 12345``: five digits, or capital letters among them."""
    return _after(kind, cue, _CODE, lambda text: _long(text) and text.upper() == text)


_ORDER_CUE = (
    "(?:orders?|bookings?|reservations?|confirmation|tickets?|reference|ref|invoice|tracking|case|"
    "claim|receipt|transaction|parcel|package|shipment|consignment|return|rma|serial|contract|"
    "quote|request|incident|complaint)(?![a-z])|订单|运单|快递|物流|票|工单|流水|预订|预约|参考|发票|"
    "合同|退款|退货|投诉|交易"
)
_ID_CUE = (
    "(?:id|identity(?: card)?|identification|passport|licen[cs]e|social security|ssn|account|"
    "acct|customer|client|member(?:ship)?|user|employee|staff|student|patient|policy|item|product|"
    "sku)(?![a-z])|身份证|护照|驾驶证|驾照|账号|账户|帐号|会员|用户|客户|工号|商品|货号|保单"
)
_TRIP_CUE = "(?:trip|ride|journey|train|bus|coach)(?![a-z])|行程|车次|列车|火车|高铁|动车"
_PHONE_CUE = (
    "(?:phone|telephone|tel|mobile|cell(?:phone)?|fax|hotline|helpline|whatsapp|call|dial|ring|"
    "reach|contact|text|sms)(?: (?:me|us|him|her|them|back))?(?![a-z])|"
    "电话|手机|(?:(?<![\u4e00-\u9fff])|(?<=[的个打]))号码|热线|传真|致电|拨打|联系方式"
)
_PLATE_CUE = (
    r"(?:(?:licen[cs]e|number|registration|car) plates?|plates?|registration|reg|vehicle|van|"
    r"car)(?![a-z])|车牌"
)
_PLATE = (
    r"(?-i:[A-Z]{1,3}[ -]?[0-9]{1,4}(?:[ -]?[A-Z]{1,3})?|"
    r"[0-9]{1,4}[ -]?[A-Z]{2,3}(?:[ -]?[0-9]{1,4})?)"
    r"|[a-z]{1,3}-?[0-9]{2,4}-?[a-z]{0,3}|[a-z]{2}[0-9]{2} [a-z]{3}"
)
_HAN_PLATE = (
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·•. -]?"
    r"(?:[A-HJ-NP-Z0-9]{5,6}|[A-HJ-NP-Z0-9]{4}[挂学警港澳])"
)

_PHONES = (
    r"(?:(?:\+|00)?86[ -]?)?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}",  # Chinese mobile
    r"(?:\(0[1-9][0-9]{1,2}\) ?|（0[1-9][0-9]{1,2}）|0[1-9][0-9]{1,2}[ -])"
    r"[1-9][0-9]{2,3}[ -]?[0-9]{4}",
    r"(?:\+?1[ .-]?)?(?:\([2-9][0-9]{2}\)[ -]?|[2-9][0-9]{2}[ .-])[0-9]{3}[ .-][0-9]{4}",
    r"(?:\+?1)?[2-9][0-9]{2}[2-9][0-9]{6}",  # North America, run together
    r"[48]00[ -]?[0-9]{3,4}[ -]?[0-9]{3,4}",
    r"[2-9][0-9]{2}-[0-9]{4}",
    r"\(?0[1-9][0-9]{1,4}\)?[ -][0-9]{3,4}[ -]?[0-9]{3,4}",  # Britain and others
    r"0[1-9](?:[ .-][0-9]{2}){4}",  # France
    r"\+(?!1[0-9(. -]|86[ -]?1)[1-9][0-9]{0,2}[ .-]?(?:\(0\) ?)?"
    r"[0-9]{1,5}(?:[ .-]?[0-9]{2,5}){1,5}",
)

_AMOUNT_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})(?:\.[0-9]{1,2})?"
_SCALE = r"(?:[ ]?(?:thousand|million|billion|k|m|bn|[千百]?[万亿]|千)(?![a-z]))?"
_MANY = "(?:hundred|thousand|million)"
_WORD_NUMBER = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    rf"a {_MANY})"
)
_CURRENCY = (
    r"(?:(?:us |hong kong |canadian |australian )?dollars?|bucks|euros?|cents?|yuan|rmb|usd|eur|"
    r"gbp|cny|jpy|chf|pounds sterling|quid|yen|rupees?)(?![a-z])|人民币|"
    r"美[元金]|欧元|英镑|日元|港[元币]|澳元|块钱|元钱?|圆|块|角钱?|毛钱|分钱"
)
_AMOUNTS = (
    rf"(?:us|hk|nt|[ac])?[$€£¥￥₹][ ]?{_AMOUNT_NUMBER}{_SCALE}",
    rf"(?:usd|eur|gbp|cny|rmb|jpy|chf)[ ]?{_AMOUNT_NUMBER}{_SCALE}",
    rf"{_AMOUNT_NUMBER}{_SCALE}[ ]?(?:{_CURRENCY}|[€£])",
)
_SPOKEN_AMOUNT = (
    rf"{_WORD_NUMBER}(?:[ -](?:and )?(?:{_WORD_NUMBER}|{_MANY})){{0,7}} (?:{_CURRENCY})"
)
_HAN_AMOUNT = r"[一二两三四五六七八九十零][一二两三四五六七八九十百千万亿零]{0,11}(?:块钱|元|块)"

_CHINESE_ID = (
    r"[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9X]"
)
_IBAN_LENGTHS = {  # the IBAN registry of SWIFT
    15: "NO",
    16: "BE",
    18: "DK|FI|FK|FO|GL|NL|SD",
    19: "MK|SI",
    20: "AT|BA|EE|KZ|LT|LU|MN|XK",
    21: "CH|HR|LI|LV",
    22: "BG|BH|CR|DE|GB|GE|IE|ME|RS|VA",
    23: "AE|GI|IL|IQ|OM|SO|TL",
    24: "AD|CZ|ES|MD|PK|RO|SA|SE|SK|TN|VG",
    25: "LY|PT|ST",
    26: "IS|TR",
    27: "BI|DJ|FR|GR|IT|MC|MR|SM",
    28: "AL|AZ|BY|CY|DO|GT|HN|HU|LB|NI|PL|SV",
    29: "BR|EG|PS|QA|UA",
    30: "JO|KW|MU|YE",
    31: "MT|SC",
    32: "LC",
    33: "RU",
}
# By the country's length: the next word must not be taken for a part of it.
_IBANS = "|".join(
    rf"(?:{countries})[0-9]{{2}}(?:[ ]?[A-Z0-9]){{{length - 4}}}"
    for length, countries in _IBAN_LENGTHS.items()
)
_EMAIL = r"[A-Z0-9][A-Z0-9._%+'-]{0,63}+@(?:[A-Z0-9-]{1,63}\.){1,8}[A-Z]{2,24}"
_URL_END = r"[A-Za-z0-9/_=&#%~+-]"
_URL_TAIL = rf"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]{{0,2000}}{_URL_END}"
_DOMAIN = (  # in small letters: "all wrong.Info follows" lacks a space
    r"(?:[A-Z0-9-]{1,63}\.){1,5}(?-i:com|org|net|edu|gov|cn|io|uk|de|fr|info|app|dev|eu)"
)
_FLIGHT = (  # "my flight is 3 hours late" has none
    r"(?-i:(?:[A-Z]{2}|[A-Z][0-9]|[0-9][A-Z])[ -]?[0-9]{1,4}[A-Z]?)|[a-z]{2}[0-9]{2,4}"
)
_AIRLINES = (
    "AA|UA|DL|WN|AC|BA|LH|AF|KL|IB|AZ|LX|OS|SK|AY|TK|EK|QR|EY|SQ|CX|KA|JL|NH|KE|OZ|TG|QF|NZ|CA|MU|"
    "CZ|HU|MF|ZH|FM|HO|SC|TV|GS|JD|PN|EU|KN|9C|3U|8L"
)


def _flights() -> Iterator[Rule]:
    yield _after("FLIGHT", f"(?:flights?(?![a-z])|航班)(?:{_NUMBER})?", _FLIGHT)
    yield _after("FLIGHT", f"(?:flights?(?![a-z])|航班){_NUMBER}", r"[0-9]{2,4}")
    yield _plain("FLIGHT", rf"(?-i:(?:{_AIRLINES})[0-9]{{3,4}})")


def _times() -> Iterator[Rule]:
    yield _plain("TIME", NUMERIC_DATE, day_and_month)
    yield _plain("TIME", ISO_TIME)
    yield _plain("TIME", "|".join(TIMES))
    yield _plain("TIME", "|".join(SPOKEN_TIMES), needs="(?i:clock|past|quarter|[ap]\\.?m)")
    yield _plain("TIME", "|".join(HAN_TIMES), needs="[点时月年午上晚晨夜]")
    cue = "on|by|until|till|before|after|since|from|through"
    yield Rule(
        "TIME",
        re.compile(f"(?<![A-Za-z])(?:{cue}) (?P<v>{CUED_DATE}){AFTER}(?![/.][0-9])", re.I),
        day_and_month,
    )


def _addresses() -> Iterator[Rule]:
    yield _plain("EMAIL", _EMAIL, needs="@")
    yield _plain("URL", rf"(?:(?:https?|ftp)://|www\.){_URL_TAIL}", needs="(?i:://|www)")
    yield _plain("URL", rf"{_DOMAIN}(?:[/?]{_URL_TAIL}|/)?(?!\.[a-z])(?![@-])", needs=r"\.")
    yield _plain("IP", r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\.[0-9])", ip_address)
    yield _plain("IP", r"[0-9a-f]{1,4}:[0-9a-f:]{2,34}", ip_address)


def _rules() -> Iterator[Rule]:
    yield from _times()
    yield from _addresses()
    yield _plain("IBAN", _IBANS, iban)
    yield _plain("ID", _CHINESE_ID, chinese_id)
    yield _after(
        "CARD",
        f"(?:(?:credit |debit |bank )?card|银行卡|信用卡|卡号|卡)(?:{_NUMBER})?",
        f"{_CARD}|{_GROUPED}",
    )
    last = r"(?:ending|ends)(?: (?:in|with))?|last (?:four|4)(?: digits)?|尾号|后四位"
    yield _after("CARD", last, r"[0-9]{4}")
    yield from _flights()
    yield from _numbered_things()
    for form in (_CARD, r"[0-9]{4}(?:[ -][0-9]{4}){3}", _GROUPED):  # "... 1111 12 times"
        yield _plain("CARD", form, luhn)
    yield Rule(
        "PHONE",
        re.compile(rf"(?<![{_EDGE}$€£¥￥.])(?P<v>{'|'.join(_PHONES)}){AFTER}(?!-[0-9])", re.I),
        phone_length,
    )
    yield _bare("ID", _ID_CUE)  # after PHONE: "the number for reservations is 415-..."
    yield _bare("ORDER", _ORDER_CUE)
    yield _plain("PLATE_NUM", _HAN_PLATE, has_digits)
    yield _plain("AMOUNT", "|".join(_AMOUNTS))
    yield _plain(
        "AMOUNT",
        _SPOKEN_AMOUNT,
        needs="(?i:dollar|buck|euro|cent|yuan|rmb|[a-z] usd|pound|quid|yen|rupee)",
    )
    yield _plain("AMOUNT", _HAN_AMOUNT, needs="[元块]")
    yield _plain("TRIP", r"[GDCZTKYL][0-9]{1,4}(?=次)")
    yield _plain("ID", r"[0-9]{3}-[0-9]{2}-[0-9]{4}", social_security)
    yield _plain("ORDER", r"[0-9]{9,32}")
    yield _plain("ORDER", r"(?-i:[A-Z0-9]{1,24}(?:-[A-Z0-9]{1,12}){0,4})", looks_issued)


def _numbered_things() -> Iterator[Rule]:
    """What only the word before tells apart."""
    number = r"\+?[0-9(](?:[ .()-]{0,2}[0-9]){6,14}"
    yield _after("PHONE", f"(?:{_PHONE_CUE})(?:{_NUMBER})?", number, phone_length)
    yield _after("TRIP", f"(?:{_TRIP_CUE}){_NUMBER}", _CODE, has_digits)
    yield _after("TRIP", _TRIP_CUE, r"(?-i:[GDCZTKYL][0-9]{1,4})")
    near = f"[^.!?。！？{ANY_ENTITY}]{{0,24}}?"  # "my car is the red one, AB12 CDE"
    yield _after("PLATE_NUM", _PLATE_CUE, f"{_PLATE}|{_HAN_PLATE}", _plate, near + BEFORE)
    yield _numbered("ID", _ID_CUE)
    yield _numbered("ORDER", _ORDER_CUE)


def _plate(text: str) -> bool:
    """Letters and digits, and as many as a plate has."""
    length = sum(c.isalnum() for c in text)
    return has_digits(text) and any(c.isalpha() for c in text) and 5 <= length <= 8


RULES = tuple(_rules())
