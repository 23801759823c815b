"""People's names in English text: first names that are known as such, surnames after titles.

The known names are common in English-speaking countries; others are not found, and stay.
"""

import re

from dialogist.text.aliases import NICKNAMES
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.listing import word_set

_FAMILY = word_set(
    """
    mom mum mommy mummy mama mother mam ma dad daddy papa father pa aunt auntie aunty grandma granny
    gran grandmother nana grandpa granddad grandfather grandad
    """
)
# First names that are words as well: at the beginning of a sentence nobody can tell.
_WORDS = word_set(
    """
    will may mark art bill frank grant drew rich rob pat sue jack rose eve dot hope grace joy ray
    sandy sally dick don van gene hank april amber crystal dawn dale dean faith holly iris ivy jade
    june mason max roy chuck penny ginny patty jean miles summer charity win carol marge nick pete
    chase curt earl guy harry jimmy jo mike nat olive pearl rod roger ruby sky viola buddy bud cat
    char di ed em flo hal kit lex liv mel phil ron sid tess tony val vic al ben dan deb jan jess ken
    kim len lou meg mandy mick nan
    """
)
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
_FIRST = (frozenset(NICKNAMES) | _COMMON | _WORDS) - _FAMILY - (FUNCTION_WORDS - {"will"})
ROLES = word_set(
    """
    adviser advisor agent applicant assistant associate baker barista boss bot buyer callee caller
    candidate caretaker chair chatbot clerk client coach consultant coordinator counsellor counselor
    couple customer dentist dispatcher doctor driver electrician employee expert father grocer guest
    helpdesk host interviewee interviewer landlord lawyer lead librarian manager mechanic member
    moderator mother neighbor neighbour nurse officer operator optician parent participant passenger
    patient person pharmacist physician plumber presenter priest reader receptionist rep reporter
    representative resident salesman salesperson seller shop speaker specialist staff student
    support
    system teacher technician tenant therapist trainer tutor unknown user visitor voice waiter
    waitress
    """
)
"""What people are in a dialogue, as labels of speakers say it in place of a name."""
_CAPITAL = re.compile(r"(?<![\w'’-])[A-Z][a-z]+(?![\w-])")
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Mister|Dr|Doctor|Prof|Professor)\.? ([A-Z][a-z]{2,})\b")
_BEGINS = re.compile(r"(?:^|[.!?:\"“\n\U0010f000-\U0010ffff])\s*$")


def first_names(text: str) -> list[str]:
    """The known first names in a text, from left to right, as often as they stand there.

    One that is a word as well counts only where no sentence begins.
    """
    found = []
    for match in _CAPITAL.finditer(text):
        low = match[0].lower()
        if low not in _FIRST:
            continue
        before = text[max(0, match.start() - 3) : match.start()]
        if low in _WORDS and _BEGINS.search(before):
            continue
        found.append(match[0])
    return found


def is_first_name(word: str) -> bool:
    """Whether a word is known as a first name, however it is written."""
    return word.lower() in _FIRST


def is_only_name(word: str) -> bool:
    """Whether a word is known as a first name and means nothing else."""
    return is_first_name(word) and word.lower() not in _WORDS


def surnames(text: str) -> list[str]:
    """The names after titles, from left to right."""
    return [name for name in _TITLED.findall(text) if name.lower() not in FUNCTION_WORDS]


def same_person(one: str, other: str) -> bool:
    """Whether two first names may stand for the same person."""
    return other.lower() in NICKNAMES.get(one.lower(), ())
