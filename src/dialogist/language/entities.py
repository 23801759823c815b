"""Entities: numbers, times, addresses and codes of a text, by rules, English and Chinese.

Each form is one `Rule`; where two fit the same text, the first in `RULES` says the kind.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from stdnum import luhn
from stdnum.iso7064 import mod_11_2, mod_97_10
from stdnum.us import ssn

from dialogist.language.quantities import HOUR_WORDS, TENS, UNITS

# Checks take the text of a candidate and say yes or no; none fails, whatever the text.


def digits_of(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(c for c in text if "0" <= c <= "9")


def is_card(text: str) -> bool:
    """Whether a number has the check digit of payment cards (ISO/IEC 7812-1), and their length."""
    digits = digits_of(text)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and luhn.is_valid(digits)


def is_iban(text: str) -> bool:
    """Whether an account has the check digits of ISO 13616."""
    compact = text.replace(" ", "")
    return (
        text.isascii()
        and 15 <= len(compact) <= 34
        and mod_97_10.is_valid(compact[4:] + compact[:4])
    )


def is_resident_id(text: str) -> bool:
    """Whether a Chinese identity number has the check character of GB 11643."""
    return _RESIDENT_ID.fullmatch(text) is not None and mod_11_2.is_valid(text.upper())


def is_ssn(text: str) -> bool:
    """Whether the USA could have given out nine digits as a social security number."""
    return ssn.is_valid(digits_of(text))


def is_ip_address(text: str) -> bool:
    """Whether a text is a complete IPv4 or IPv6 address (a time such as 12:30:45 is none)."""
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return len(text) > 4  # "::" and "::1" are addresses to a machine only


def _has_digits(least: int, most: int = 99) -> Callable[[str], bool]:
    return lambda text: least <= len(digits_of(text)) <= most


_has_phone_length = _has_digits(7, 15)  # E.164 allows 15; shorter than 7 is an extension


def _is_day_and_month(text: str) -> bool:
    """Whether the first two numbers can be a day and a month, in either order."""
    first, second = (int(part) for part in re.split("[-/.]", text)[:2])
    return 0 < min(first, second) <= 12 and max(first, second) <= 31


def _looks_issued(text: str) -> bool:
    """Whether letters and digits are mixed as in no word: four digits, a letter, eight in all."""
    digits, letters = len(digits_of(text)), sum(map(str.isalpha, text))
    return digits >= 4 and letters >= 1 and digits + letters >= 8


def _is_bare_code(text: str) -> bool:
    """Whether a code needs no "number" before it: five digits, or two among capital letters."""
    digits = len(digits_of(text))
    return (digits >= 5 or (len(text) >= 5 and digits >= 2)) and text.upper() == text


def _is_plate(text: str) -> bool:
    """Whether a text has letters and digits, and as many as a plate."""
    length = sum(map(str.isalnum, text))
    return len(digits_of(text)) >= 2 and any(map(str.isalpha, text)) and 5 <= length <= 8


_RESIDENT_ID = re.compile(r"[0-9]{17}[0-9Xx]")

# Dates and times of day. Only what names a point in time by number is one: "5 May", "half past
# six", "下午三点". Words that shift with the day of speaking ("tomorrow", "下周") are not.
_YEAR = r"(?:19|20)[0-9]{2}"
_MONTH_NUMBER = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"
# "may" and "march" are words, too: as months they begin with a capital letter.
_MONTH = (
    r"(?:(?:jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?-i:Mar))(?![a-z])\.?|(?-i:May|MAY|March|MARCH))"
)
_SPOKEN_HOUR = f"(?:{HOUR_WORDS})"
_END = r"(?![A-Za-z])"  # not \b: Chinese characters are letters to it
# am, p.m. The last dot is the sentence's own where the sentence ends there.
_HALF = rf"(?: ?[ap](?:m|\.m(?:\.(?=[,;)]| (?-i:[a-z])))?){_END})"
_CLOCK = rf"(?:2[0-3]|[01]?[0-9])[:：][0-5][0-9](?:[:：][0-5][0-9](?:\.[0-9]{{1,6}})?)?{_HALF}?"
_SPOKEN_TIMES = (
    rf"(?:(?:1[0-2]|0?[1-9])(?:[.:][0-5][0-9])?|{_SPOKEN_HOUR}){_HALF}",
    rf"(?:1[0-2]|0?[1-9]|{_SPOKEN_HOUR}) o['’]? ?clock{_END}",
    rf"(?:half past|(?:a )?quarter (?:past|to)) (?:1[0-2]|[1-9]|{_SPOKEN_HOUR}{_END})",
)
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
_HAN_TIMES = (
    rf"(?:{'|'.join(_HAN_DATES)}) ?(?:{'|'.join(_HAN_CLOCKS)}|{_CLOCK})",
    *_HAN_DATES,
    *_HAN_CLOCKS,
)
_TIMES = (
    _CLOCK,
    rf"{_MONTH} {_DAY}(?:st|nd|rd|th)?(?![a-z0-9])(?:,? {_YEAR})?",
    rf"{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?",
    rf"{_MONTH},? {_YEAR}",
)
_ISO = rf"{_YEAR}(?P<dash>[-/.]){_MONTH_NUMBER}(?P=dash){_DAY}"
_ISO_TIME = rf"{_ISO}(?:[T ,]{{1,2}}{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_NUMERIC_DATE = r"[0-9]{1,2}(?P<dash>[-/.])[0-9]{1,2}(?P=dash)(?:(?:19|20)[0-9]{2}|[0-9]{2})"

# Every quantifier that can meet a long run of text has a bound, and no two neighbouring ones share
# characters without one, so a text is searched in time proportional to its length.

# Latin letters and digits border an entity; Chinese characters do not: no spaces there.
_EDGE = "0-9A-Za-z_"
BEFORE = f"(?<![{_EDGE}])"
AFTER = f"(?![{_EDGE}])"
_NO_FRACTION = "(?<![0-9][.,:：])"  # not the ".50" of "12.50"


@dataclass(frozen=True, slots=True)
class EntitySpan:
    """A mention: ``text[start:end]``, of which kind, and whether a word before it told so."""

    start: int
    end: int
    kind: str
    cued: bool = False


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
    needs: re.Pattern[str] = re.compile("[0-9]")

    def search(self, text: str, position: int) -> EntitySpan | None:
        """The first entity of this form whose match begins at ``position`` or later."""
        while match := self.pattern.search(text, position):
            if self.check is None or self.check(match["v"]):
                return EntitySpan(*match.span("v"), self.kind, self.cued)
            position = match.start() + 1
        return None


def find_entities(text: str, known: re.Pattern[str] | None = None) -> list[EntitySpan]:
    """All entities of a text from left to right, no two overlapping.

    Of those that begin first the longest is taken, of equally long ones that of the first rule;
    what ``known`` matches (its group ``v``) is an ORDER before all rules.
    """
    rules = [rule for rule in RULES if rule.needs.search(text)]
    if known is not None:
        rules = [Rule("ORDER", known), *rules]
    spans: list[EntitySpan] = []
    # The next match of each rule is kept, so no part of the text is searched twice.
    upcoming = [(rule, rule.search(text, 0)) for rule in rules]
    while following := [span for _, span in upcoming if span is not None]:
        # `min` takes the first rule of equals.
        best = min(following, key=lambda span: (span.start, -span.end))
        spans.append(best)
        upcoming = [
            (rule, span if span.start >= best.end else rule.search(text, best.end))
            for rule, span in upcoming
            if span is not None
        ]
    return spans


def _plain(
    kind: str, value: str, check: Callable[[str], bool] | None = None, needs: str = "[0-9]"
) -> Rule:
    """A value that its form tells."""
    pattern = re.compile(f"{BEFORE}{_NO_FRACTION}(?P<v>{value}){AFTER}", re.I)
    return Rule(kind, pattern, check, needs=re.compile(needs))


_LINKS = r"is|was|are|at|on|to|as|of|it's"
_GLUE = rf"(?:[ ]?(?:(?:{_LINKS})(?![a-z0-9])|[:：#=(（\"“'‘]|号|是|为|即)){{0,3}}[ ]?"


def _after(
    kind: str, cue: str, value: str, check: Callable[[str], bool] | None = None, glue: str = _GLUE
) -> Rule:
    """A value that a word before it tells."""
    pattern = f"(?<![A-Za-z](?=[a-z]))(?:{cue}){glue}(?P<v>{value}){AFTER}"
    return Rule(kind, re.compile(pattern, re.I), check, cued=True)


_NUMBER = (
    r"(?:[ ]?(?:(?:numbers?|codes?|ids?|(?:num|no|nr)\.?)(?![a-z])|\#|"
    r"号码|编号|单号|代码|[号码])){1,3}"
)
_CODE = r"(?:[0-9]{3,8}(?:[ -][0-9]{3,8}){1,4}|[A-Z0-9]{1,24}(?:-[A-Z0-9]{1,12}){0,31})"
_GROUPED = r"[0-9](?:[ -]?[0-9]){11,18}"
_CARD = r"[0-9]{4}(?:[ -][0-9]{4}){3}(?:[ -][0-9]{3})?|[0-9]{4}[ -][0-9]{6}[ -][0-9]{5}"
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
PLATE = (
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
_WORD_NUMBER = f"(?:{'|'.join((*UNITS, *TENS)[1:])}|a {_MANY})"
_CURRENCY = (
    r"(?:(?:us |hong kong |canadian |australian )?dollars?|bucks|euros?|cents?|yuan|rmb|usd|eur|"
    r"gbp|cny|jpy|chf|pounds sterling|quid|yen|rupees?)(?![a-z])|人民币|"
    r"美[元金]|欧元|英镑|日元|港[元币]|澳元|块钱|元钱?|圆|块|角钱?|毛钱|分钱"
)
# "15 pounds back", not "5 pounds of flour", "lost 15 pounds".
_NO_WEIGHT = r"(?<!weigh )(?<!weighs )(?<!weighed )(?<!weighing )(?<!lost )(?<!gained )"
_POUNDS = r"pounds?(?![a-z]| (?:of|lighter|heavier|over|under|per)\b)"
_AND_CENTS = r"(?: (?:and )?[0-9]{1,2} ?(?:cents?|pence)(?![a-z]))?"
_AMOUNTS = (
    rf"(?:us|hk|nt|[ac])?[$€£¥￥₹][ ]?{_AMOUNT_NUMBER}{_SCALE}",
    rf"(?:usd|eur|gbp|cny|rmb|jpy|chf)[ ]?{_AMOUNT_NUMBER}{_SCALE}",
    rf"{_AMOUNT_NUMBER}{_SCALE}[ ]?(?:{_CURRENCY}|[€£]){_AND_CENTS}",
    rf"{_NO_WEIGHT}{_AMOUNT_NUMBER}{_SCALE}[ ]?{_POUNDS}{_AND_CENTS}",
)
_SPOKEN = rf"{_WORD_NUMBER}(?:[ -](?:and )?(?:{_WORD_NUMBER}|{_MANY})){{0,7}} "
_SPOKEN_AMOUNT = rf"{_SPOKEN}(?:{_CURRENCY})|{_NO_WEIGHT}{_SPOKEN}{_POUNDS}"
_HAN_AMOUNT = r"[一二两三四五六七八九十零][一二两三四五六七八九十百千万亿零]{0,11}(?:块钱|元|块)"
_CHINESE_ID = (
    r"[1-9][0-9]{5}(?:18|19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9X]"
)
_IBAN_LENGTHS = """
15:NO 16:BE 18:DK|FI|FK|FO|GL|NL|SD 19:MK|SI 20:AT|BA|EE|KZ|LT|LU|MN|XK 21:CH|HR|LI|LV
22:BG|BH|CR|DE|GB|GE|IE|ME|RS|VA 23:AE|GI|IL|IQ|OM|SO|TL 24:AD|CZ|ES|MD|PK|RO|SA|SE|SK|TN|VG
25:LY|PT|ST 26:IS|TR 27:BI|DJ|FR|GR|IT|MC|MR|SM 28:AL|AZ|BY|CY|DO|GT|HN|HU|LB|NI|PL|SV
29:BR|EG|PS|QA|UA 30:JO|KW|MU|YE 31:MT|SC 32:LC 33:RU
"""  # the IBAN registry of SWIFT
# By the country's length: the next word must not be taken for a part of it.
_IBANS = "|".join(
    rf"(?:{countries})[0-9]{{2}}(?:[ ]?[A-Z0-9]){{{int(length) - 4}}}"
    for length, countries in (entry.split(":") for entry in _IBAN_LENGTHS.split())
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
_FLIGHT_CUE = "(?:flights?(?![a-z])|航班)"
_CARD_CUE = f"(?:(?:credit |debit |bank )?card|银行卡|信用卡|卡号|卡)(?:{_NUMBER})?"
_CARD_END = r"(?:ending|ends)(?: (?:in|with))?|last (?:four|4)(?: digits)?|尾号|后四位"
_DATE_CUE = "on|by|until|till|before|after|since|from|through"
_NEAR = f"[^.!?。！？]{{0,24}}?{BEFORE}"  # "my car is the red one, AB12 CDE"

RULES = (
    _plain("TIME", _NUMERIC_DATE, _is_day_and_month),
    _plain("TIME", _ISO_TIME),
    _plain("TIME", "|".join(_TIMES)),
    _plain("TIME", "|".join(_SPOKEN_TIMES), needs="(?i:clock|past|quarter|[ap]\\.?m)"),
    _plain("TIME", "|".join(_HAN_TIMES), needs="[点时月年午上晚晨夜]"),
    Rule(
        "TIME",
        re.compile(
            f"(?<![A-Za-z])(?:{_DATE_CUE}) (?P<v>[0-9]{{1,2}}/[0-9]{{1,2}}){AFTER}(?![/.][0-9])",
            re.I,
        ),
        _is_day_and_month,
    ),
    _plain("EMAIL", _EMAIL, needs="@"),
    _plain("URL", rf"(?:(?:https?|ftp)://|www\.){_URL_TAIL}", needs="(?i:://|www)"),
    _plain("URL", rf"{_DOMAIN}(?:[/?]{_URL_TAIL}|/)?(?!\.[a-z])(?![@-])", needs=r"\."),
    _plain("IP", r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\.[0-9])", is_ip_address),
    _plain("IP", r"[0-9a-f]{1,4}:[0-9a-f:]{2,34}", is_ip_address),
    _plain("IBAN", _IBANS, is_iban),
    _plain("ID", _CHINESE_ID, is_resident_id),
    _after("CARD", _CARD_CUE, f"{_CARD}|{_GROUPED}"),
    _after("CARD", _CARD_END, r"[0-9]{4}"),
    _after("FLIGHT", f"{_FLIGHT_CUE}(?:{_NUMBER})?", _FLIGHT),
    _after("FLIGHT", f"{_FLIGHT_CUE}{_NUMBER}", r"[0-9]{2,4}"),
    _plain("FLIGHT", rf"(?-i:(?:{_AIRLINES})[0-9]{{3,4}})"),
    # What only the word before tells apart.
    _after(
        "PHONE",
        f"(?:{_PHONE_CUE})(?:{_NUMBER})?",
        r"\+?[0-9(](?:[ .()-]{0,2}[0-9]){6,14}",
        _has_phone_length,
    ),
    _after("TRIP", f"(?:{_TRIP_CUE}){_NUMBER}", _CODE, _has_digits(2)),
    _after("TRIP", _TRIP_CUE, r"(?-i:[GDCZTKYL][0-9]{1,4})"),
    _after("PLATE_NUM", _PLATE_CUE, f"{PLATE}|{_HAN_PLATE}", _is_plate, _NEAR),
    _after("ID", f"(?:{_ID_CUE}){_NUMBER}", _CODE, _has_digits(3)),
    _after("ORDER", f"(?:{_ORDER_CUE}){_NUMBER}", _CODE, _has_digits(3)),
    _plain("CARD", _CARD, is_card),
    _plain("CARD", r"[0-9]{4}(?:[ -][0-9]{4}){3}", is_card),  # "... 1111 12 times"
    _plain("CARD", _GROUPED, is_card),
    Rule(
        "PHONE",
        re.compile(rf"(?<![{_EDGE}$€£¥￥.])(?P<v>{'|'.join(_PHONES)}){AFTER}(?!-[0-9])", re.I),
        _has_phone_length,
    ),
    # After PHONE: "the number for reservations is 415-...".
    _after("ID", _ID_CUE, _CODE, _is_bare_code),
    _after("ORDER", _ORDER_CUE, _CODE, _is_bare_code),
    _plain("PLATE_NUM", _HAN_PLATE, _has_digits(2)),
    _plain("AMOUNT", "|".join(_AMOUNTS)),
    _plain(
        "AMOUNT",
        _SPOKEN_AMOUNT,
        needs="(?i:dollar|buck|euro|cent|yuan|rmb|[a-z] usd|pound|quid|yen|rupee)",
    ),
    _plain("AMOUNT", _HAN_AMOUNT, needs="[元块]"),
    _plain("TRIP", r"[GDCZTKYL][0-9]{1,4}(?=次)"),
    _plain("ID", r"[0-9]{3}-[0-9]{2}-[0-9]{4}", is_ssn),
    _plain("ORDER", r"[0-9]{9,32}"),
    _plain("ORDER", r"(?-i:[A-Z0-9]{1,24}(?:-[A-Z0-9]{1,12}){0,31})", _looks_issued),
)
"""All forms, in order of precedence."""

ENTITY_KINDS = tuple(dict.fromkeys(rule.kind for rule in RULES))
"""What is told apart."""
