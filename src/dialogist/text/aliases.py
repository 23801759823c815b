"""Other forms of English names: diminutives, peoples of countries, short forms.

Two words of one group may stand for the same person, place or thing.
"""

from collections.abc import Iterable

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
    found: dict[str, set[str]] = {}
    for group in "|".join(texts).split("|"):
        words = group.split()
        for word in words:
            found.setdefault(word, set()).update(words)
    return {word: frozenset(others) for word, others in found.items()}


NICKNAMES = _table([_PEOPLE])
"""Lower-cased name of a person -> those that may stand for the same."""

SHORT_FORMS = _table([_PLACES, _THINGS])
"""The same of places and things, which people often write without a capital."""
