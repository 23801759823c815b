"""English verb forms: what stands behind a name where "I" or "you" stood before.

The verbs of conversations are listed. The form of any other word is unknown, and a sentence that
needs it is not reported.
"""

from dialogist.language.tokens import word_set

_IRREGULAR = """
become became become | begin began begun | bite bit bitten | blow blew blown | break broke broken
| bring brought brought | build built built | burn burnt burnt | buy bought bought | catch caught
caught | choose chose chosen | come came come | deal dealt dealt | dig dug dug | do did done | draw
drew drawn | dream dreamt dreamt | drink drank drunk | drive drove driven | eat ate eaten | fall
fell fallen | feed fed fed | feel felt felt | fight fought fought | find found found | fly flew
flown | forget forgot forgotten | forgive forgave forgiven | freeze froze frozen | get got gotten |
give gave given | go went gone | grow grew grown | hang hung hung | have had had | hear heard heard
| hide hid hidden | hold held held | keep kept kept | know knew known | lead led led | learn learnt
learnt | leave left left | lend lent lent | lie lay lain | lose lost lost | make made made | mean
meant meant | meet met met | overcook overcooked overcooked | pay paid paid | ride rode ridden |
ring rang rung | rise rose risen | run ran run | say said said | see saw seen | sell sold sold |
send sent sent | shake shook shaken | shoot shot shot | show showed shown | sing sang sung | sink
sank sunk | sit sat sat | sleep slept slept | smell smelt smelt | speak spoke spoken | spend spent
spent | spill spilt spilt | spoil spoilt spoilt | stand stood stood | steal stole stolen | stick
stuck stuck | swear swore sworn | swim swam swum | take took taken | teach taught taught | tear
tore torn | tell told told | think thought thought | throw threw thrown | understand understood
understood | wake woke woken | wear wore worn | win won won | withdraw withdrew withdrawn | write
wrote written
"""
SAME_PAST = word_set(
    "bet broadcast burst cost cut hit hurt let put quit set shut spread split upset"
)
"""Verbs whose past is their base form."""
_REGULAR = word_set("""
accept achieve acquire act adapt add adjust admire admit adore advise afford agree aim allow annoy
answer anticipate apologize apologise appear apply appreciate approach approve argue arrange arrive
ask assist assume assure attach attend avoid bake base beg behave believe belong blame block boil
book borrow bother breathe brush call calm cancel care carry cause celebrate change charge chat
check cheer claim clean clear click climb close collect combine comfort comment commute compare
compete complain complete concern confirm confuse congratulate connect consider consist contact
contain continue contribute control convince cook cooperate copy correct cough count cover crash
create cross cry cycle damage dance decide decline decorate delay delete deliver demand deny depend
deposit describe deserve design despise detest develop dial die disagree disappear disappoint
discover discuss dislike disturb divide double doubt download drag dress drop dry earn email employ
encourage end enjoy ensure enter escape estimate exaggerate examine exchange excuse exercise
exist expect
experience explain explore express extend face fail fancy fasten faint fear file fill finish fit
fix flush focus follow force frighten function gain gather graduate greet guarantee guess guide
handle happen hate head help hesitate hike hire hope hurry identify ignore imagine improve include
increase inform injure inquire insist inspect install intend interview introduce invest investigate
invite involve iron issue itch join joke judge jump justify kick kill kiss knock land last laugh
launch lie lift light like limit link list listen live load lock look love lower mail maintain
manage mark marry match matter measure mend mention mess message mind miss mix move mow murder name
need neglect nod note notice notify object obtain offend offer open operate order organize organise
overload owe own pack paint park participate pass pause perform permit persuade phone pick place
plan plant play plug point polish post pour practice practise praise pray prefer prepare prescribe
present press pretend prevent print process produce program promise pronounce propose protect prove
provide publish pull punish purchase push qualify quarrel question race rain raise reach react
realize realise rearrange receive recognize recognise recommend record recover recycle reduce refer
refill reflect refreeze refund refuse regard register regret relate relax release rely remain
remember remind remove renew rent repair repeat replace reply report represent request require
rescue reschedule reserve reset resign resist respect respond rest restart result retire return
reveal review ring rinse risk roll rush satisfy save scan schedule score scratch scream search seem
select separate serve settle share shave shine shop shout sign skip slow smile smoke sneeze snore
snow solve sort sound spell stare start state stay step stop store stress stretch struggle study
submit subscribe succeed suffer suggest suit supervise supply support suppose surprise surrender
suspect switch talk taste tend terminate test text thank tidy touch trade train transfer translate
travel treat trust try turn type unlock unpack update upgrade upload urge use vaccinate vacuum
value view visit volunteer vote wait walk want warn wash waste watch water weigh whistle wipe wish
wonder work worry worship wrap yell oppose sweat swallow tweet google dm ping swap tutor host
appeal attempt award await bear bend boast bounce brew bump chase cheat chew circle coach code
crawl cure debate donate edit enrol enroll exit fetch film flatter float fold gamble heal hug hunt
impress inherit invent kneel lean leak leap nap obey outline peel pop pose postpone proofread quote
rate reckon rehearse rephrase reheat ruin sail sew sigh sketch ski slip sniff soak spare spot
squeeze stammer starve steer stir strive tap tease tempt thaw threaten tip tire toast track trim
trip tuck undergo unplug vanish vomit wander weaken whisper withhold yawn zoom consult diagnose
photograph bargain drift spray stack bike jog skate surf camp picnic
""")
# As often nouns as verbs: alone they do not show that a verb is meant.
NOUNS_TOO = word_set("""
act address aim answer appeal attempt award base bet bike book border bother brush bump call camp
care cause challenge change charge chat check cheat chill circle claim coach code comfort comment
contact control copy cost cough count cover crash cross cure cut cycle damage dance date deal
debate delay demand deposit design dial divide double doubt download drag draw dream dress drink
drive drop email end escape estimate exchange excuse exercise exit experience express face fall fan
fear feel fight file fill film finish fit fix float flush fly focus force fun function google
guarantee guess guide hand hate head heat help hike hire hit hold hope host hug hunt hurry hurt
interview iron issue itch joke judge jump kick kiss knock land last laugh launch lead leak leap lie
lift light like limit link list load lock look love mail mark match matter mean measure mess
message mind mix move murder nap name need note notice object offer open order outline own pack
paint park pass pause phone picnic place plan plant play plug point polish pop pose post practice
praise present press print process produce program promise purchase push question quote race rain
raise rate reach record refund regard regret release remark rent repair repeat reply report request
rescue reserve respect rest result return review ride ring rise risk roll run rush sail sample save
scan schedule score scratch scream search sense set shake share shave shine shop shot show shut
sign sketch ski skip sleep slip smell smile smoke snow sound spare spell split spot spray spread
stack stand stare start state stay step stick stop store stress stretch struggle study suit supply
support surf surprise sweat swim switch talk tap taste tear test text tie time tip tire toast touch
track trade train transfer travel treat trim trip trust try tune turn tutor tweet type update
upgrade upset use value view visit vote wait wake walk wash waste watch water whisper win wish
wonder work worry wrap yell zoom clean clear close complete dry lower slow warm cool free correct
separate fancy tidy even calm better content lean long pretty fine house
""")


def _verbs() -> dict[str, tuple[str, str]]:
    found = {verb: (_regular_past(verb),) * 2 for verb in _REGULAR}
    found |= {verb: (verb, verb) for verb in SAME_PAST}
    for row in _IRREGULAR.split("|"):
        verb, past, participle = row.split()
        found[verb] = (past, participle)
    return found


def _regular_past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return _doubled(verb) + "ed"


_DOUBLING = word_set("""
admit beg chat commit drag drop equip fit grab hug jog nap occur pat permit pin plan plug pop
prefer refer regret rob rub scan ship shop skip slip snap spot stir stop submit swap tap tip
transfer trim trip unplug wrap cut get hit let put quit run set shut sit split swim upset win begin
bet dig forget
""")


def _doubled(verb: str) -> str:
    return verb + verb[-1] if verb in _DOUBLING else verb


def _present(verb: str) -> str:
    if verb in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[verb]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else verb + "s"


def _gerund(verb: str) -> str:
    if verb in ("lie", "die"):
        return verb[0] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return _doubled(verb) + "ing"


_VERBS = _verbs()
_PRESENT = {_present(verb): verb for verb in _VERBS}
_GERUNDS = {_gerund(verb): verb for verb in _VERBS} | {"being": "be"}
_PAST = frozenset(past for past, _ in _VERBS.values()) | word_set(
    "read learned dreamed burned spelt"
)
_PARTICIPLES = frozenset(p for _, p in _VERBS.values()) | word_set("been read got learned sworn")
MODALS = word_set("can cannot could may might must shall should will would ought")
AUXILIARIES = MODALS | word_set("am is are was were have has had do does did")
_BEHIND_A_NAME = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}


def is_base(word: str) -> bool:
    """Whether a word is the base form of a known verb."""
    return word in _VERBS or word == "be"


def is_past(word: str) -> bool:
    return word in _PAST


def is_participle(word: str) -> bool:
    return word in _PARTICIPLES


def is_present(word: str) -> bool:
    """Whether a word is a known verb with the ending of the third person."""
    return word in _PRESENT


def is_gerund(word: str) -> bool:
    return word in _GERUNDS


def gerund_of(verb: str) -> str | None:
    """The form in -ing of a base form; None: not known."""
    return "being" if verb == "be" else _gerund(verb) if verb in _VERBS else None


def base_of(word: str) -> str:
    """The base form of a word with the ending of the third person; others stay."""
    return _PRESENT.get(word, word)


def past_of(verb: str) -> str | None:
    """The simple past of a base form; None: not known."""
    return _VERBS[verb][0] if verb in _VERBS else None


def present_of(verb: str) -> str | None:
    """The present of a base form with the ending of the third person; None: not known."""
    return _present(verb) if verb in _VERBS else None


def third_person(verb: str) -> str | None:
    """The form of a verb behind "I" or "you" that stands behind a name; None: not known."""
    if verb in _BEHIND_A_NAME:
        return _BEHIND_A_NAME[verb]
    if verb in AUXILIARIES or (verb in _PAST and verb != "read"):
        return "bets" if verb == "bet" else verb
    return _present(verb) if verb in _VERBS else None
