"""Check digits and other arithmetic that tells an entity from a number that looks like one.

Each takes the text of a candidate and says yes or no.
"""

import ipaddress

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_PHONE_DIGITS = (7, 15)  # E.164 allows 15 digits; shorter than 7 is an extension


def digits_of(text: str) -> str:
    """The ASCII digits of a text."""
    return "".join(c for c in text if "0" <= c <= "9")


def luhn(text: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1): 13 to 19 digits, the first one 2 to 6."""
    digits = digits_of(text)
    if not 13 <= len(digits) <= 19 or digits[0] not in "23456":
        return False
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def iban(text: str) -> bool:
    """The check digits of a bank account (ISO 13616): the number modulo 97 is 1."""
    compact = text.replace(" ", "").upper()
    if not 15 <= len(compact) <= 34:
        return False
    turned = compact[4:] + compact[:4]
    return int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def chinese_id(text: str) -> bool:
    """The last character of a Chinese identity number (GB 11643: ISO 7064, MOD 11-2)."""
    total = sum(w * int(d) for w, d in zip(_ID_WEIGHTS, text[:17], strict=True))
    return "10X98765432"[total % 11] == text[17].upper()


def social_security(text: str) -> bool:
    """An area, group and serial number that the USA could have given out."""
    area, group, serial = text.split("-")
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def ip_address(text: str) -> bool:
    """A complete IPv4 or IPv6 address (a time such as 12:30:45 is none)."""
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return len(text) > 4  # "::" and "::1" are addresses to a machine only


def phone_length(text: str) -> bool:
    """As many digits as a telephone number can have."""
    shortest, longest = _PHONE_DIGITS
    return shortest <= len(digits_of(text)) <= longest


def day_and_month(text: str) -> bool:
    """Two numbers before the year that can be a day and a month, in either order."""
    one, other = (int(part) for part in text.replace("-", "/").replace(".", "/").split("/")[:2])
    return 0 < min(one, other) <= 12 and max(one, other) <= 31


def looks_issued(text: str) -> bool:
    """Letters and digits mixed as no word is: at least four digits, a letter, eight in all."""
    digits = len(digits_of(text))
    letters = sum(c.isalpha() for c in text)
    return digits >= 4 and letters >= 1 and digits + letters >= 8


def has_digits(text: str, least: int = 2) -> bool:
    """At least ``least`` digits: a word after a cue is no number."""
    return len(digits_of(text)) >= least
