"""How people say yes to what they were asked or proposed, English and Chinese."""

import re

_YES = re.compile(
    r"\W*(?:(?:oh|um|uh|well|ah|hmm|and|so|mm)[ ,.]+){0,2}"
    r"(?:sure|of course|ok(?:ay|ey)?|yes|yeah|yep|yup|certainly|absolutely|definitely|no problem|"
    r"all ?right|alright|aright|will do|i will|i['’ ]+ll (?:do|be|see)|i promise|deal|"
    r"agreed|exactly|"
    r"(?:that |it )?(?:sounds?|looks?) (?:like )?(?:a )?(?:good|great|fine|perfect|"
    r"nice|lovely|fun)|"
    r"(?:that|it)['’ ]*(?:s|ll be| is| would be| will be) (?:a )?(?:good|great|fine|"
    r"perfect|okay|ok|"
    r"settled|wonderful|lovely|excellent|nice)|(?:good|great|nice|excellent|wonderful|brilliant|"
    r"fine|perfect)(?: idea| by me| with me)?\b|i agree|i['’ ]?d (?:love|be (?:happy|glad)) to|"
    r"with pleasure|my pleasure|right away|you got it|got it|fair enough|let['’ ]+s do (?:it|that)|"
    r"why not|works for me|count me in|consider it done|no worries|sounds? (?:good|great)|"
    r"please do|even better|np|ofc|kk?|cool|haha|(?:that|it|this) would be (?:really |very )?"
    r"(?:good|great|nice|lovely|helpful|perfect|amazing|awesome|fantastic|wonderful|super)|"
    r"(?:that|it|this|[\w:]+(?: [\w:]+)?) "
    r"(?:works|(?:is|are) (?:fine|good|perfect|great|ok|okay|enough))(?! (?:out|on|at|in)\b))\b",
    re.I,
)
_NO = re.compile(
    r"\b(?:but|however|sorry|unfortunately|afraid|can ?['’]? ?n?o?t\b|cannot|won ?['’] "
    r"?t|don ?['’] ?t|"
    r"not sure|maybe|rather not|instead|no way|i doubt|isn ?['’] ?t|would ?n|actually|problem is)",
    re.I,
)
_NOT_NEEDED = re.compile(
    r"\b(?:no need|don ?['’]? ?t (?:bother|worry about (?:it|that))|that ?(?:['’] ?s|is|"
    r"won ?['’] ?t be) "
    r"(?:really )?not? ?(?:be )?necessary|you (?:don ?['’] ?t|do not) (?:have|need) to|"
    r"no,? (?:please )?"
    r"don ?['’] ?t|(?:wait|stop|hold on),? (?:please )?don ?['’] ?t|please don ?['’] ?t|"
    r"don ?['’] ?t \w+ (?:it|that|them|anything)(?: yet)?\b|no,? thanks?|no,? thank you|"
    r"i ?['’]?d rather (?!not\b)(?:you did|do it|have|keep)|i (?:don ?['’] ?t|do not) (?:want|"
    r"need) "
    r"(?:an?|any|the|that|it|one|you)\b|let me do (?:that|it)|i already (?:did|have))",
    re.I,
)
_YES_HAN = re.compile(
    r"[嗯哦噢啊，,。 ]*(?:好的?|行|可以|没问题|同意|当然|必须的|收到|明白|"
    r"就这么定|一言为定|没事|成)"
)
_NO_HAN = re.compile(r"但是?|不过|不行|不能|不好|抱歉|对不起|恐怕|没办法|不了|吗|？|\?")


def agrees(reply: str) -> bool:
    """Whether a reply begins with a yes that nothing in the same breath takes back."""
    if _YES_HAN.match(reply):
        return not _NO_HAN.search(reply)
    return _YES.match(reply) is not None and not _NO.search(reply) and "?" not in reply


def declines(reply: str) -> bool:
    """Whether a reply says that what was promised or offered is not wanted: "No need"."""
    return _NOT_NEEDED.search(reply) is not None
