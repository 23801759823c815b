"""How dates and times of day are written: the patterns of the kind TIME, English and Chinese.

Only what names a point in time by number is one: "5 May", "half past six", "下午三点". Words that
shift with the day of speaking ("tomorrow", "Monday", "下周") are not: they are ordinary words.
All patterns are for case-insensitive use.
"""

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
