"""Verbs of summaries by what their subject does in the dialogue; forms of irregular words."""

from dialogist.text.listing import word_set

_ASKING = "ask inquire enquire wonder question interview request"
_TELLING = """
tell think say suggest recommend explain introduce advise show feel remind complain insist believe
worry mention inform warn state argue claim describe express praise compliment convince persuade
encourage urge comfort point invite apologize apologise thank hope wish offer doubt admit announce
comment regret appreciate assure confirm want prefer blame criticize criticise teach
"""
_ANSWERING = "agree accept refuse decline deny answer respond reply reject promise disagree"
_HELPING = "help assist serve"
_SHOWING = """
assume beg book bring buy call compare congratulate consider decide discuss find guess imagine know
like love need notify order plan propose provide receive report reveal see seek seem send share
suspect update welcome work
"""

ASKING = word_set(_ASKING)
TELLING = word_set(_TELLING)
ANSWERING = word_set(_ANSWERING)
HELPING = word_set(_HELPING)
REPORTING = ASKING | TELLING | ANSWERING | HELPING | word_set(_SHOWING)
"""What summaries say that speakers do, base forms: a sentence may begin with one."""

_IRREGULAR = """
be am is are was were been being | have has had | do does did done | go goes went gone gonna | say
said | tell told | give gave given | get got gotten gotta | take took taken | make made | see saw
seen | come came | know knew known | think thought | find found | leave left | feel felt | bring
brought | buy bought purchase | pay paid | send sent | meet met | spend spent | keep kept | lose
lost | forget forgot forgotten | sell sold | catch caught | teach taught | break broke broken |
speak spoke spoken | write wrote written | choose chose chosen | eat ate eaten | drink drank drunk
| drive drove driven | wear wore worn | wake woke woken | begin began begun | run ran | want wanna
| sleep slept | hear heard | hold held | stand stood | understand understood | win won | build
built | lend lent | fall fell fallen | fly flew flown | grow grew grown | throw threw thrown | draw
drew drawn | show showed shown | sing sang sung | swim swam swum | ride rode ridden | rise rose
risen | sit sat | lie lay lain | mean meant | dream dreamt | learn learnt | burn burnt | stick
stuck | steal stole stolen | hide hid hidden | bite bit bitten | fight fought | lead led | become
became | bear bore born | beat beaten | bend bent | bind bound | blow blew blown | breed bred |
deal dealt | dig dug | feed fed | forgive forgave forgiven | freeze froze frozen | hang hung | seek
sought | shake shook shaken | shine shone | shoot shot | smell smelt | spoil spoilt | strike struck
| swear swore sworn | tear tore torn | weep wept | wind wound | withdraw withdrew withdrawn | man
men | woman women | child children | person people | foot feet | tooth teeth | wife wives | life
lives | knife knives | good better best | bad worse worst | mum mom mother mommy mummy | dad father
daddy | television tv telly | phone telephone cellphone | photo photograph photographs pic pics
picture pictures | film movie films movies | okay ok | university uni | flat apartment | bicycle
bike bikes | thank thanks thx ty | please pls plz | you u | tomorrow tmr tmrw | birthday bday |
information info | exam examination exams | minute mins min | advertisement ad ads advert | holiday
vacation vacations | hour hrs hr | doctor doc | fridge refrigerator | laboratory lab | dormitory
dorm | mathematics math maths | gymnasium gym | professor prof | shop store stores
"""


def _bases() -> dict[str, str]:
    groups = (group.split() for group in _IRREGULAR.split("|"))
    return {form: base for base, *forms in groups for form in forms}


IRREGULAR = _bases()
"""Form -> base form of irregular words; one of several words that mean the same -> the first."""
