"""Who takes part: speakers and what others call them; words for roles, who serves, who is served.

The lists of words differ by what they are for, as each says; a new word may belong in several.
"""

import re

from dialogist.language.tokens import word_set

# Roles as readers state them, by the names that data give them. Only names that are a role whoever
# bears them: a transcript's "Support" may be a person's name there.
_ROLES = {
    "user": ("user", "usr", "human", "用户"),
    "system": ("system", "sys", "系统"),
    "assistant": ("assistant", "bot", "chatbot", "助手", "机器人"),
    "agent": ("agent", "operator", "representative", "客服", "坐席"),
    "customer": ("customer", "client", "caller", "客户", "顾客"),
    "doctor": ("doctor", "dr", "physician", "医生", "大夫"),
    "patient": ("patient", "患者", "病人"),
    "nurse": ("nurse", "护士"),
    "guest_family": ("guest_family", "gest_family", "patient_guest"),
    "guest_clinician": ("guest_clinician", "guest_clinican"),
    "interviewer": ("interviewer",),
    "interviewee": ("interviewee",),
}
# Words that say whose side somebody is on in a help desk's data, but are no names in a transcript.
_PARTIES = {
    "customer": (
        "end-user", "end_user", "enduser", "requester", "contact", "lead", "visitor", "consumer",
        "incoming", "inbound", "external",
    ),
    "agent": (
        "admin", "staff", "support", "advisor", "csr", "teammate", "assignee", "team", "outgoing",
        "outbound", "internal",
    ),
    "assistant": ("ai", "model", "gpt"),
    "system": ("developer",),
}  # fmt: skip
_BY_PARTY = {word: role for role, words in _PARTIES.items() for word in words}
_CANONICAL = {name: role for role, names in _ROLES.items() for name in names}
# "Doctor_2" is a doctor; "agent_1" of Topical-Chat is anyone, so agents are not counted off.
_NUMBERED = re.compile(r"(doctor|patient|guest_family|guest_clinician)[_ ]?\d+")


def role_of(speaker: str) -> str:
    """Return the role a speaker's name states (``客服`` -> ``agent``), or an empty string."""
    name = speaker.strip().lower()
    numbered = _NUMBERED.fullmatch(name)
    return numbered[1] if numbered else _CANONICAL.get(name, "")


def role_in_data(value: str) -> str:
    """Return the role that a field of roles states (``end-user`` -> ``customer``), or its text."""
    return role_of(value) or _BY_PARTY.get(value.strip().lower(), value)


# Words of a label or role that tell the side of its speaker, for the rules of templates. Wider than
# the readers' roles: "Front desk" has a word of those who serve.
SERVING_WORDS = word_set(
    "agent advisor adviser support rep representative operator system assistant bot clerk "
    "reception receptionist doctor dr nurse teacher salesperson helpdesk service host staff "
    "waiter mechanic technician consultant dispatcher cashier pharmacist shop store desk hotline "
    "helpline team"
)
SERVED_WORDS = word_set(
    "customer caller client guest patient passenger user traveller traveler tenant shopper "
    "member subscriber"
)
# Whom a user profile is of, where the dialogue does not say it.
PROFILED_ROLES = word_set("customer user patient caller client")
