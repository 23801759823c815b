"""By when: phrases of day and time as they are said, English and Chinese.

Numbers of the clock and calendar come from the entity rules; here are the words around them, and
those that shift with the day of speaking ("tomorrow", 下周一).
"""

import re
from collections.abc import Iterator

from dialogist.text.names import DAYS, MONTHS

_DAY = rf"(?:{'|'.join(DAYS)})"
_PART = r"(?:morning|afternoon|evening|night|noon|lunch(?: ?time)?)"
_UNIT = r"(?:minutes?|mins?|hours?|(?:business |working )?days?|weeks?|months?|years?)"
_COUNT = (
    r"(?:\d{1,3}(?: ?(?:-|to|or) ?\d{1,3})?|an?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"few|twelve|fifteen|twenty|twenty-four|thirty|forty-eight|half an|a couple of|a few|"
    r"(?:one|two|three|four) (?:or|to) (?:two|three|four|five))"
)
_CLOCK = (
    r"(?:(?:half past|(?:a )?quarter (?:past|to)) )?"
    r"(?:[01]?\d|2[0-3]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"(?:(?:[:.][0-5]\d)?(?: ?[ap]\.? ?m\b\.?)| o ?['’]? ?clock|:[0-5]\d|(?: (?:fifteen|thirty))?)"
)
_DATE = (
    rf"(?:(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? \d{{1,2}}"
    rf"(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? "
    rf"(?:{'|'.join(MONTHS)})(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}"
    r"(?:/\d{2,4})?|the \d{1,2}(?:st|nd|rd|th))"
)
_SHIFTING = (
    rf"(?:the day after tomorrow|tomorrow(?: {_PART})?|tonight|2nite|tmrw|2moro|today|"
    rf"this (?:{_PART}|week(?:end)?|"
    rf"month|year|{_DAY})|(?:early |late )?next (?:week|month|year|weekend|time we meet|{_DAY})|"
    rf"(?:on )?{_DAY}(?: {_PART})?|(?:the )?(?:weekend|end of (?:the|this|next|today|each)"
    r"(?: (?:day|week|month|year|quarter|meeting))?)|noon|midnight|lunch(?: ?time)?|Christmas|"
    r"then|(?:the )?next meeting)"
)
_WHEN = rf"(?:{_DATE}|{_SHIFTING})(?:,? (?:at|by|before|around|after) (?:about )?{_CLOCK})?"
_ENGLISH = re.compile(
    rf"\b(?:(?:(?:no later than|at the latest by|by|before|until|till|not later than) (?:(?:the )?"
    rf"(?:latest )?)?(?:{_WHEN}|{_CLOCK}(?:,? (?:on )?{_SHIFTING})?))"
    rf"|(?:within|in) (?:the next )?{_COUNT} {_UNIT}(?: time)?\b"
    rf"|(?:later|first thing|early|late) (?:today|tonight|this {_PART}|tomorrow(?: {_PART})?|"
    rf"(?:on |next ){_DAY}|in the {_PART}|this week|next week)"
    r"|(?:(?:sometime|some time|on|at|over|during) )?(?:the )?(?<!\bnot "
    rf")(?:{_WHEN.replace('then|', '')})"
    rf"|at (?:about |around )?{_CLOCK}(?= ?[.,;!?]|$| (?:on|tomorrow|today|tonight|"
    r"then|for|with|and|to)\b)"
    r"(?: (?:tomorrow|today|tonight|sharp))?"
    r"|as soon as possible|a\.?s\.?a\.?p\b|right away|straight away|immediately|at once"
    r"|by (?:next time|return))(?![\w-])",
    re.I,
)
_LEADING = re.compile(
    r"(?:(?:no later than|by|before|until|till|on|at|about|around|the latest) )*", re.I
)
_NO_DAY = re.compile(  # lengths of time, and words that name no day
    r"(?:within|in|as soon|a\.?s\.?a|right|straight|immediately|at once|return|next "
    r"time|then|lunch).*|"
    r"尽快|马上|立即|立刻|稍后|.*[内后]|(?:one|two|three|four|five|six|seven|eight|nine|"
    r"ten|eleven|twelve|\d{1,2})",
    re.I,
)
_HAN_DAY = (
    r"(?:今天|今晚|明天|明早|明晚|后天|大后天|(?:这|本|下|下个)?(?:周|星期|"
    r"礼拜)[一二三四五六日天末](?![一-龥]年)|"
    r"下周|下个?月|这周|本周|月底|周末|年底|\d{1,2}月\d{1,2}[日号]|\d{1,2}[日号])"
)
_HAN_TIME = (
    r"(?:(?:凌晨|早上|上午|中午|下午|傍晚|晚上)?(?:\d{1,2}|[一二两三四五六七八九十]{1,3})[点时:：]"
    r"(?:半|[0-5]?\d分?|[一三]刻|钟)?|(?:早上|上午|中午|下午|傍晚|晚上|下班))"
)
_CHINESE = re.compile(
    rf"(?:{_HAN_DAY}{_HAN_TIME}?|{_HAN_TIME})(?:之?[前内]|以前|左右)?"
    r"|(?:\d{1,3}|[一二两三四五六七八九十半]{1,3}|"
    r"几)(?:-(?:\d{1,3}))?个?(?:分钟|小时|工作日|天|周|星期|月)"
    r"(?:之?[内后]|以内|左右)|尽快|马上|立即|立刻|稍后"
)


def deadline_in(text: str) -> str:
    """The first phrase that says by when, as it stands in the text; empty without one."""
    found = _ENGLISH.search(text) or _CHINESE.search(text)
    return found[0].strip(" ,") if found else ""


def whens_in(text: str) -> Iterator[tuple[int, int]]:
    """Where phrases of day and time stand, without the word before them ("by Friday": Friday)."""
    for pattern in (_ENGLISH, _CHINESE):
        for found in pattern.finditer(text):
            start = found.start() + len(_LEADING.match(found[0])[0])  # type: ignore[index]
            phrase = text[start : found.end()].rstrip(" ,")
            if not _NO_DAY.fullmatch(phrase):
                yield start, start + len(phrase)
