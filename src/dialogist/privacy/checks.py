"""Check digits and other arithmetic of personal data, by the names that packs call them.

Each takes the text of a candidate and says yes or no; none fails, whatever the text.
"""

import re
from collections.abc import Callable, Mapping

from dialogist.data import entity_checks

_RESIDENT_ID = re.compile(r"[0-9]{17}[0-9Xx]")
# HMRC, National Insurance Manual NIM39110: letters and prefixes that were never given out.
_NINO = re.compile(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]")
_NO_NINO = frozenset(("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"))


def luhn(text: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1)."""
    return entity_checks.luhn(text)


def iban(text: str) -> bool:
    """The check digits of a bank account (ISO 13616)."""
    return text.isascii() and entity_checks.iban(text)


def resident_id(text: str) -> bool:
    """The check character of a Chinese identity number (GB 11643)."""
    return _RESIDENT_ID.fullmatch(text) is not None and entity_checks.chinese_id(text)


def ssn(text: str) -> bool:
    """Nine digits that the USA could have given out as a social security number."""
    digits = entity_checks.digits_of(text)
    parted = f"{digits[:3]}-{digits[3:5]}-{digits[5:]}"
    return len(digits) == 9 and entity_checks.social_security(parted)


def nino(text: str) -> bool:
    """A British national insurance number that could have been given out; it has no check digit."""
    compact = "".join(text.upper().split())
    return _NINO.fullmatch(compact) is not None and compact[:2] not in _NO_NINO


def digits(text: str) -> bool:
    """At least one digit."""
    return bool(entity_checks.digits_of(text))


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "luhn": luhn,
    "iban": iban,
    "resident_id": resident_id,
    "ssn": ssn,
    "nino": nino,
    "digits": digits,
}
