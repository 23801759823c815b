"""Names and people in a text: what is a name, what people are called, how they are introduced."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from dialogist.language.tokens import (
    FUNCTION_WORDS,
    OPENERS,
    REPORTING,
    SPEAKER_TAG,
    folded,
    listed,
    sentence_spans,
    word_set,
)

# Names that an English text mentions, told by their capital letters.
#
# No list of names is needed: in the middle of a sentence a capital letter makes a name; at its
# beginning a word is one unless it is among the usual openers or has the ending of another class.


_TOKEN = re.compile(
    rf"(?P<tag>{SPEAKER_TAG}|<\w+>|\[[^\[\]\s]{{1,20}}\])|(?P<dotted>(?:[A-Z]\.){{2,}}[A-Z]?)"
    r"|[^\W_]+(?:['’&-][^\W_]+)*"
)
_POSSESSIVE = re.compile(r"['’](?:s|ll|d|ve|re|m)?['’]?$", re.I)
_CONTRACTED = re.compile(r"n['’]t$|^d['’]you$|^y['’]all$")  # Don't, D'you
_BREAKS = frozenset(':;"“”•*.!?\n')
_PARTS = re.compile("[-&]+")
DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = listed(
    "january february march april may june july august september october november december"
)
# Capitals that name nobody: titles, and what is short for words that a dialogue spells out.
_SHORT = """
mr mrs ms miss mx dr prof professor doctor sir madam st sr jr
i am pm a.m p.m ok tv id cv pc cd dvd atm asap fyi diy gps usb sms faq url dm rip lol it hr ceo vip
ma ba phd mba pr ac bbq btw pe bf gf nye etc eta aka x y z u v rmb pln usd eur gbp hkd internet web
wifi wi-fi app dj mp gp er icu mri ct dna ad bc os gb mb kb se p.e b.a m.a b.s m.s ph.d i.d c.v i.q
iq t-shirt e-mail other
"""
# Parts of names that do not say whose name it is.
_GENERIC = """
street avenue road square park bridge city town county state day eve party president minister mayor
governor king queen prince princess lord lady general captain manager director master company
corporation group club team band school college university hospital hotel restaurant cafe bar
airport station centre center market store shop museum theatre theater cinema church bank office
department ministry government festival show series film movie song game league cup prize award
practitioner celebrity world island river lake sea ocean mountain north south east west northern
southern eastern western united great grand royal national international public uncle aunt auntie
mum mom dad mommy daddy grandma grandpa granny world earth god bible holiday
"""
_NO_NAMES = word_set(_SHORT) | word_set(_GENERIC) | {*DAYS, *MONTHS}
_NAMES_TOO = frozenset(("US", "Will"))  # though spelled like function words
_NAMES_IN_ED = word_set("alfred wilfred winifred manfred mohamed mohammed muhammed khaled")
_ENDINGS = re.compile(
    r".{3,}(?:ing|tions?|ments?|ness|ities|ings)$|.{4,}(?:ity|ism|ships?|ward|wards|wise|able|ible)$"
    r"|.{3,}(?:fully|ously|ately|ently|antly|edly|ively|ally|arly|ually|idly|ingly|ibly|ably)$"
)


class Mention(NamedTuple):
    """A name: ``text[start:end]``, possessive endings left out; ``words`` are folded."""

    start: int
    end: int
    words: tuple[str, ...]


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    initial: bool


def has_names(text: str) -> bool:
    """Whether names can be told in a text at all: not where all letters are small, or capital.

    Nor where words that are no names have capitals, too, as in a title.
    """
    if text == text.lower() or text == text.upper():
        return not any(map(str.isalpha, text))
    inner = [w.text for w in _words(text) if not w.initial and w.text.lower() in FUNCTION_WORDS]
    capital = sum(word[0].isupper() and word != "I" for word in inner)
    return 2 * capital <= len(inner)


def name_mentions(text: str) -> list[Mention]:
    """The names in a text, each with all its words; weekdays and months are none."""
    mentions: list[Mention] = []
    for word in _words(text):
        bare = _POSSESSIVE.sub("", word.text)
        if not bare or not _is_name(bare, word.initial):
            continue
        end = word.start + len(bare)
        if mentions and not word.initial and text[mentions[-1].end : word.start] == " ":
            mentions[-1] = Mention(mentions[-1].start, end, mentions[-1].words + name_words(bare))
        else:
            mentions.append(Mention(word.start, end, name_words(bare)))
    return mentions


def name_words(name: str) -> tuple[str, ...]:
    """The folded words of a name; ``U.S.`` is not the pronoun."""
    bare = name.replace(".", "").replace("’", "'")
    return ("usa",) if bare == "US" else tuple(_PARTS.split(folded(bare)))


def _is_name(word: str, initial: bool) -> bool:
    if not word[0].isupper() or (len(word) == 1 and word.isascii()):
        return False
    low = word.lower().rstrip(".")
    if _CONTRACTED.search(low):
        return False
    if low in _NO_NAMES or (len(low) > 2 and low.removesuffix("s") in _NO_NAMES):
        return False
    if initial:
        return low not in OPENERS and not _is_other_word(low)
    return low not in FUNCTION_WORDS or word in _NAMES_TOO


def _is_other_word(word: str) -> bool:
    """Whether a word has the ending of a verb, an adverb or an abstract noun."""
    past = len(word) > 5 and word.endswith("ed") and word not in _NAMES_IN_ED
    return past or _ENDINGS.match(word) is not None or word.removesuffix("s") in REPORTING


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[_Word, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[_Word]:
    """The words of a text; ``initial`` are those that begin a sentence, a quotation or a list."""
    for start, stop in sentence_spans(text):
        end = start
        for match in _TOKEN.finditer(text, start, stop):
            gap = text[end : match.start()]
            if match["tag"] is None:
                initial = end == start or not _BREAKS.isdisjoint(gap)
                yield _Word(match.start(), match.end(), match[0], initial)
            end = match.end()


# Other forms of English names: diminutives, peoples of countries, short forms.
#
# Two words of one group may stand for the same person, place or thing.


_PEOPLE = """
abigail abby gail | albert al bert bertie | alexander alexandra alex alec lex sandy sasha xander |
alfred alf alfie fred | andrew andy drew | anthony antony tony ant | antoinette toni | arthur artie
| barbara barb barbie babs | beatrice bea trixie | benjamin ben benny | bernard bernie | caroline
carolyn carrie carol caz | charles charlie chuck chaz | charlotte charlie lottie char | catherine
katherine kathryn katharine katarina cathy kathy kate katie katy kat cate kit kitty kath |
christine christina kristina chris chrissy chrissie tina kris | christopher chris kit topher |
cynthia cindy | daniel dan danny | danielle dani | david dave davey | deborah debra deb debbie |
dennis denny | diana diane di | donald don donny | dorothy dot dottie dolly | edward edwin ed eddie
ned ted teddy | eleanor ellen ellie nell nelly nora | emily em emmy emma | elizabeth elisabeth liz
lizzie lizzy beth betty betsy bess eliza libby | eugene gene | evelyn eve | florence flo | frances
francis francesca fran frank frankie franny | franklin frank | frederick frederic fred freddie
freddy | gabriel gabriella gabrielle gabe gabi gabby | geoffrey jeffrey jeffery geoff jeff | george
georgie | gerald gerry jerry | gregory greg | harold harry hal | harriet hattie | henry harry hank
| isabella isabel isabelle bella izzy belle | jacob jake | james jim jimmy jamie | jane janie jenny
| jennifer jen jenny jenn | jeremy jerry jem | jessica jess jessie | joanna joanne jo | john johnny
jack jon | jonathan jon jonny johnny | joseph joe joey | josephine jo josie | joshua josh | judith
judy | julia julie jules | kenneth ken kenny | kimberly kimberley kim | lawrence laurence larry |
leonard leo len lenny | lillian lily lilly | louis louie lou | louise lou | lucas luke | lucy lu |
madeleine madeline maddie | magdalena magda lena | margaret maggie meg peggy peg marge margie greta
rita | martha marty | martin marty | matthew mathew matt matty | megan meg | melissa mel | melanie
mel | amanda mandy | michael micheal mike mikey mick mickey | miranda mandy | natalie nat | nathan
nathaniel nat nate | nicholas nicolas nick nicky | nicole nicola nicky nikki | oliver ollie |
olivia liv livvy | pamela pam | patricia pat patty tricia trish | patrick pat paddy | penelope
penny | peter pete | philip phillip phil | rachel rach | raymond ray | rebecca becky becca beck |
richard rich rick ricky dick richie | robert rob bob bobby robbie bert | roberta bobbie | roger
rodger | ronald ron ronnie | rosemary rose rosie | samantha sam sammy | samuel sam sammy | sarah
sara sally | sebastian seb | stephen steven steve | stephanie steph | susan suzanne susanna sue
susie suzy | terence terry | teresa theresa terry tess | theodore ted teddy theo | thomas tom tommy
| timothy tim timmy | valerie val | veronica vera ronnie | victor vic | victoria vicky vicki tori
vic | vincent vince vinny | virginia ginny | walter walt | william bill billy willy willie liam |
william will | winifred win | zachary zach zack | mom mum mommy mummy mama mother mam ma | dad
daddy papa father pa | aunt auntie aunty | grandma granny gran grandmother nana | grandpa granddad
grandfather grandad
"""
_PLACES = """
america american americans usa states | united usa america uk | kingdom uk | uk britain british
brit | england english british britain | france french | germany german | spain spanish | poland
polish pole | italy italian | netherlands dutch holland | denmark danish dane | greece greek |
switzerland swiss | wales welsh | ireland irish | scotland scottish scots | sweden swedish |
finland finnish | norway norwegian | philippines filipino | turkey turkish | china chinese | japan
japanese | portugal portuguese | russia russian | brazil brazilian | canada canadian | mexico
mexican | india indian | hungary hungarian | czech czechia | europe european eu euro | vietnam
vietnamese | thailand thai | iceland icelandic | new ny nyc nye nz | york ny nyc | zealand nz | los
la | angeles la | san sf | francisco sf frisco | las vegas | hong hk hongkong | kong hk hongkong |
christmas xmas chrismas | eve nye xmas | year nye | years nye
"""
_THINGS = """
television tv telly | facebook fb | instagram insta ig | youtube yt | messenger msg | mcdonald
mcdonalds mcd macdonalds mac | starbucks sbux | playstation ps ps4 ps5 | microsoft ms | internet
net online web wifi website | professor prof | doctor dr | mister mr | missus mrs | university uni
| avenue ave av | street st | road rd | boulevard blvd | centre center | theatre theater | dollar
dollars usd bucks | euro euros eur | pound pounds gbp quid | yuan rmb cny kuai | zloty zlotys pln
zl zł | airlines airline airways air | photoshop ps | airbnb bnb | mount mt | saint st | computer
pc | identification id | resume cv | machine atm | direct dm | message dm
"""


def _table(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for group in "|".join(texts).split("|"):
        words = group.split()
        for word in words:
            table.setdefault(word, set()).update(words)
    return {word: frozenset(others) for word, others in table.items()}


NICKNAMES = _table([_PEOPLE])
"""Lower-cased name of a person -> those that may stand for the same."""

SHORT_FORMS = _table([_PLACES, _THINGS])
"""The same of places and things, which people often write without a capital."""


# People's names in English text: first names that are known as such, surnames after titles.
#
# The known names are common in English-speaking countries; others are not found, and stay.


_FAMILY = word_set(
    """
    mom mum mommy mummy mama mother mam ma dad daddy papa father pa aunt auntie aunty grandma granny
    gran grandmother nana grandpa granddad grandfather grandad
    """
)
NAME_WORDS = word_set(
    """
    will may mark art bill frank grant drew rich rob pat sue jack rose eve dot hope grace joy ray
    sandy sally dick don van gene hank april amber crystal dawn dale dean faith holly iris ivy jade
    june mason max roy chuck penny ginny patty jean miles summer charity win carol marge nick pete
    chase curt earl guy harry jimmy jo mike nat olive pearl rod roger ruby sky viola buddy bud cat
    char di ed em flo hal kit lex liv mel phil ron sid tess tony val vic al ben dan deb jan jess ken
    kim len lou meg mandy mick nan
    """
)
"""First names that are words as well: at the beginning of a sentence nobody can tell."""

# Common first names without a short form in the table of nicknames.
_COMMON = word_set(
    """
    aaron adam adrian ahmed alan alison alvin amber amit amy ana andrea angela angie anita ann anna
    anne annie april arnold ashley audrey austin barry becky ben betty beth blake bob brad bradley
    brandon brenda brent brian bridget bruce bryan caleb cameron carl carla carlos carmen cassandra
    cecilia cedric chad chelsea cheryl chloe claire clara claudia cole colin connie connor corey
    craig crystal curtis dale damon danielle daphne darren dawn dean delia denise derek diego
    dolores dominic donna dora doris douglas duncan dustin dylan earl edith eduardo elaine elena
    elias elsa elsie eric erica erik erin ernest ethan ethel evan fabian faith felicia felix
    fernando fiona garrett gary gavin georgia gilbert gina glen glenn gloria gordon graham greta
    hannah hans harvey hassan heather hector heidi helen helena henrietta herbert holly howard hugh
    hugo ian ida igor ingrid irene iris isaac ivan ivy jade jared jason jasmine javier jeanne jerome
    jill joan joel jorge jose josefina joyce juan juanita judith julian june justin kara karen karl
    karla keith kelly kelsey kevin kirk kristen kurt kyle lance lara laura lauren leah leila leon
    leroy leslie lester liam lillian linda lindsay lisa lloyd logan lois lorenzo loretta lori
    lorraine louise lucia lucinda luis luther lydia lynn mabel malcolm marcia marco marcus maria
    marian marianne marie marilyn marina mario marion marjorie mark marlene marshall marvin mary
    mason maureen maurice mavis max maya melinda mercedes meredith mia miguel mildred milton ming
    mohammed moira mona monica monique morgan muriel myra nadia nancy naomi natasha neil nelson
    nigel nina noah noel nora norma norman olga omar oscar otto owen pablo paula paul pauline pedro
    phoebe phyllis priscilla rafael ralph ramon randy raul rebekah regina rene rhonda ricardo rita
    roberto rodney roland roman ronan rosa ross roxanne roy rudy russell ruth ryan sabrina samir
    sasha scott sean sergio seth shane shannon sharon shaun shawn sheila shelley sherry shirley
    silvia simon sofia sonia sophia sophie spencer stacey stacy stanley stella stuart sylvia tamara
    tammy tanya tara tiffany todd tracy travis trevor troy tyler ursula vanessa vera vernon vivian
    wallace wanda warren wayne wendy wesley whitney wilma yolanda yvonne zoe
    """
)
_FIRST = (frozenset(NICKNAMES) | _COMMON | NAME_WORDS) - _FAMILY - (FUNCTION_WORDS - {"will"})


def is_first_name(word: str) -> bool:
    """Whether a word is known as a first name, however it is written."""
    return word.lower() in _FIRST


# What speakers call themselves: "this is Priya", "Tom speaking", and signatures such as "^JI".
#
# Only plain forms are read. A name that may be somebody else's ("Mom, this is Priya", "this is
# Priya's phone") is left alone.


_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Doctor|Professor)\b\.?\s)?"
_WORD = r"[A-Z\u00c0-\u00de][\w'’-]*[a-z\u00df-\u00ff](?<!['’]s)"
_BARE = rf"(?P<name>{_WORD}(?: {_WORD})?)(?!['’\w])"
_NAME = _TITLE + _BARE
_OTHERS = r"(?!,? (?i:my|our|his|her|their|the|a|an) )"
_END = r"(?=\s*(?:[.!,;:\u2013\u2014-]|$))"
_JOB = r"(?i:from|with|at|in|here|speaking|calling|again|on)\b"
_GOES_ON = rf"(?=\s+(?:{_JOB}|and I\b|(?i:how|what|your)\b|I\b))"
_STARTS = r"(?:^|[.!?:]\s*|[,\u2013\u2014-]\s*)"
_GREETING = (
    r"(?i:(?:hi|hello|hallo|hey|yes|yeah|oh|well|so|and|sorry|good|morning|afternoon|evening|there|"
    r"everyone|everybody|all|again)[,!.]?\s+)"
)
_SURE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:\bmy name(?: is|['’]s)) {_NAME}",
        rf"(?:{_STARTS}|{_GREETING})(?i:this is) {_NAME}{_OTHERS}(?:{_END}|{_GOES_ON})",
        rf"(?i:\bit(?: is|['’]s)) {_NAME}(?=\s+{_JOB})",
        r"^(?i:(?:hi|hello|hey|(?:good )?(?:morning|afternoon|evening))(?: there)?[,!.])"
        rf"(?i: it(?: is|['’]s)) {_NAME}{_OTHERS}{_END}",
        rf"{_STARTS}{_NAME} speaking\b",
        rf"(?:{_STARTS}|{_GREETING}){_NAME} here(?=\s+(?:from|with|at|in)\b)",
        rf"(?i:\byou(?: are|['’]re)? (?:speaking|talking|chatting|through) (?:with|to)) {_NAME}",
        rf"(?i:\bI(?: am|['’]m)) {_NAME}(?=\s+(?:from|with)\b|,? (?:your|and I)\b)",
    )
)
_BY_NAME: tuple[re.Pattern[str], ...] = (
    re.compile(rf"(?i:\bI(?: am|['’]m)) (?P<title>{_TITLE}){_BARE}{_OTHERS}{_END}"),
    re.compile(rf"(?P<title>)(?:{_STARTS}|{_GREETING}){_NAME} here{_END}"),
)
"""Only where the name is known as one, or has a title: "I'm Polish" has the same form."""

_TO_SOMEBODY = re.compile(r"^\W*(\w+), this is ", re.I)
_TELLS = re.compile(rf"\s+{_JOB}|,? (?:and I|your|how)\b")
_NOT_CALLED = (FUNCTION_WORDS | OPENERS | {*DAYS, *MONTHS} | frozenset(SHORT_FORMS)) | word_set("""
great perfect urgent awesome amazing terrible ridiculous unacceptable correct wrong true false
customer support service services team billing sales english french spanish german arabic hindi
catholic christian jewish muslim buddhist god sir madam sure problem
""")
_FAMILY_WORDS = word_set(
    "mom mum mommy mummy dad daddy grandma grandpa granny aunt uncle honey darling"
)

_CALLED = re.compile(
    rf"(?:^|[.!?]\s+)(?i:hi|hello|hallo|hey|thanks|thank you|"
    rf"good (?:morning|afternoon|evening)|morning|"
    rf"bye|goodbye|sorry|sure|okay|ok|yes|no|of course|dear),?\s+{_NAME}(?=\s*(?:[.!?,;]|$))"
)

_REGARDS = re.compile(
    rf"(?i:\b(?:regards|sincerely|yours truly|yours faithfully)),?\s+{_NAME}[^.!?]{{0,60}}\s*\Z"
    rf"|(?i:\n\s*(?:thanks|thank you|cheers|best|best wishes|many thanks)),?\s*\n\s*"
    rf"(?P<signed>{_WORD}(?: {_WORD})?)\s*\Z"
)
_SIGNED = re.compile(
    rf"(?<=\S)\s*(?:[\^~*/]|(?<=[.!?\s])[-\u2013\u2014])\s?"
    rf"(?P<name>[A-Z]{{1,3}}|{_WORD}(?: [A-Z])?)\s*\Z"
)
_SIGNATURE = 200  # characters at the end of a text in which one may stand


def own_names(text: str) -> Iterator[str]:
    """The names by which the speaker of a text introduces himself or signs, without titles."""
    for pattern in _SURE:
        for match in pattern.finditer(text):
            if _is_own(text, match):
                yield match["name"]
    for pattern in _BY_NAME:
        for match in pattern.finditer(text):
            if match["title"] or is_first_name(match["name"].split()[0]):
                yield match["name"]
    yield from _signed_names(text)


def names_called(text: str) -> Iterator[str]:
    """The names by which a text greets, thanks or answers somebody, without titles."""
    for match in _CALLED.finditer(text):
        if _may_be_name(match["name"]):
            yield match["name"]


def _signed_names(text: str) -> Iterator[str]:
    signed = _SIGNED.search(text, _tail(text))
    if signed and not signed["name"].isupper() and _may_be_name(signed["name"]):
        yield signed["name"]
    regards = _REGARDS.search(text, _tail(text))
    if regards and _may_be_name(name := regards["name"] or regards["signed"]):
        yield name


def _tail(text: str) -> int:
    """From where on a signature may stand."""
    return max(0, len(text) - _SIGNATURE)


def _is_own(text: str, match: re.Match[str]) -> bool:
    if not _may_be_name(match["name"]) or text[match.end() :].lstrip().startswith("?"):
        return False
    addressed = _TO_SOMEBODY.match(text)
    if (
        addressed is None
        or addressed.end() != match.start("name")
        or _TELLS.match(text, match.end("name"))
    ):
        return True
    return addressed[1].lower() not in _FAMILY_WORDS and not is_first_name(addressed[1])


def _may_be_name(name: str) -> bool:
    return not any(word.lower() in _NOT_CALLED for word in name.split())
