"""Made-up personal data in many written forms, and things that only look like it.

Nothing here is anybody's: all values are drawn. Check digits are right where the kind has some.
"""

import string
from collections.abc import Callable
from random import Random

Maker = Callable[[Random], str]

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
# Country, and what its account numbers look like: n digit, a capital letter (ISO 13616).
_IBAN_FORMS = {
    "DE": "n" * 18, "GB": "aaaa" + "n" * 14, "FR": "n" * 10 + "aa" + "n" * 11,
    "NL": "aaaa" + "n" * 10, "ES": "n" * 20, "IT": "a" + "n" * 22, "PL": "n" * 24, "CH": "n" * 17,
    "NO": "n" * 11, "BE": "n" * 12, "SE": "n" * 20, "IE": "aaaa" + "n" * 14, "BR": "n" * 23 + "aa",
    "SA": "n" * 20, "UA": "n" * 25, "MT": "aaaa" + "n" * 23, "KW": "aaaa" + "n" * 22,
    "RS": "n" * 18, "GE": "aa" + "n" * 16,
}  # fmt: skip


def digits(draw: Random, count: int) -> str:
    return "".join(draw.choices(string.digits, k=count))


def letters(draw: Random, count: int, among: str = "ABCDEFGHJKLMNPRSTUVWXY") -> str:
    return "".join(draw.choices(among, k=count))


def fill(draw: Random, form: str) -> str:
    """``n`` becomes a digit, ``N`` one from 2 to 9, ``a`` a capital; all else stays."""
    made = {
        "n": lambda: digits(draw, 1),
        "N": lambda: draw.choice("23456789"),
        "a": lambda: letters(draw, 1),
    }
    return "".join(made[c]() if c in made else c for c in form)


def phone_en(draw: Random) -> str:
    return fill(
        draw,
        draw.choice(
            (
                *("(Nnn) Nnn-nnnn", "Nnn-Nnn-nnnn", "Nnn.Nnn.nnnn", "Nnn Nnn nnnn", "NnnNnnnnnn"),
                *("+1 Nnn-Nnn-nnnn", "+1 (Nnn) Nnn-nnnn", "1-800-Nnn-nnnn", "+1NnnNnnnnnn"),
                *(
                    "020 7nnn nnnn",
                    "07nnn nnnnnn",
                    "07nnnnnnnnn",
                    "+44 20 7nnn nnnn",
                    "+44 7nnn nnn nnn",
                ),
                *("0161 Nnn nnnn", "(0117) Nnn nnnn", "+49 30 Nnnnnnn", "+49 (0)171 Nnnnnnn"),
                *(
                    "+33 1 nn nn nn nn",
                    "01 nn nn nn nn",
                    "+61 2 9nnn nnnn",
                    "(02) 9nnn nnnn",
                    "0412 nnn nnn",
                ),
                *("+91 98nnn nnnnn", "+353 1 Nnn nnnn", "+48 Nnn nnn nnn", "+46 70 Nnn nn nn"),
            )
        ),
    )


def phone_zh(draw: Random) -> str:
    forms = (
        *("13nnnnnnnnn", "138 nnnn nnnn", "159-nnnn-nnnn", "+86 186nnnnnnnn", "+86-177-nnnn-nnnn"),
        *(
            "010-6nnnnnnn",
            "021 5nnnnnnn",
            "(0755)8nnnnnnn",
            "0571-8nnnnnn",
            "400-Nnn-nnnn",
            "800Nnnnnnn",
        ),
        *("008613nnnnnnnnn",),
    )
    return fill(draw, draw.choice(forms))


def email(draw: Random) -> str:
    first = draw.choice(("anna", "brian", "wei", "maria", "x"))
    last = draw.choice(("okafor", "bennett", "li", "o-brien", "zhang88"))
    local = draw.choice(
        (
            f"{first}.{last}",
            f"{first[0]}{last}",
            f"{first}_{digits(draw, 2)}",
            f"{last}+shop",
            digits(draw, 9),
        )
    )
    host = draw.choice(
        (
            "example.com",
            "mail.example.co.uk",
            "qq.com",
            "163.com",
            "uni-x.edu",
            "x.io",
            "post.example.de",
        )
    )
    made = f"{local}@{host}"
    return made.upper() if draw.random() < 0.05 else made


def card(draw: Random) -> str:
    start, length = draw.choice(
        (
            ("4", 16),
            ("51", 16),
            ("55", 16),
            ("2221", 16),
            ("37", 15),
            ("6011", 16),
            ("62", 16),
            ("62", 19),
        )
    )
    body = start + digits(draw, length - len(start) - 1)
    total = sum(
        d if i % 2 else (2 * d - 9 if d > 4 else 2 * d)
        for i, d in enumerate(map(int, reversed(body)))
    )
    number = body + str(-total % 10)
    parts = (4, 6, 5) if length == 15 else (4,) * 4 + ((3,) if length == 19 else ())
    ends = [sum(parts[: i + 1]) for i in range(len(parts))]
    pieces = [number[end - part : end] for part, end in zip(parts, ends, strict=True)]
    return draw.choice(("", " ", "-")).join(pieces)


def iban(draw: Random) -> str:
    country = draw.choice(sorted(_IBAN_FORMS))
    account = fill(draw, _IBAN_FORMS[country])
    number = "".join(str(int(c, 36)) for c in f"{account}{country}00")
    made = f"{country}{98 - int(number) % 97:02}{account}"
    spaced = " ".join(made[i : i + 4] for i in range(0, len(made), 4))
    return draw.choice((made, spaced))


def ssn(draw: Random) -> str:
    area = draw.choice((*range(1, 666), *range(667, 900)))
    return f"{area:03}-{draw.randint(1, 99):02}-{draw.randint(1, 9999):04}"


def nino(draw: Random) -> str:
    prefix = draw.choice(("AB", "CE", "HJ", "JG", "LM", "PW", "RS", "SY", "TW", "WK"))
    number, end = digits(draw, 6), draw.choice("ABCD")
    spaced = f"{prefix} {number[:2]} {number[2:4]} {number[4:]} {end}"
    return draw.choice((f"{prefix}{number}{end}", spaced))


def resident_id(draw: Random) -> str:
    month, day = draw.randint(1, 12), draw.randint(1, 28)
    year = draw.choice((*range(1941, 2000), *range(2000, 2012)))
    body = f"{draw.randint(110101, 659001)}{year}{month:02}{day:02}{digits(draw, 3)}"
    total = sum(w * int(d) for w, d in zip(_ID_WEIGHTS, body, strict=True))
    made = body + "10X98765432"[total % 11]
    return made.lower() if draw.random() < 0.2 else made


def passport(draw: Random) -> str:
    return fill(
        draw, draw.choice(("nnnnnnnnn", "annnnnnnn", "aannnnnnn", "Ennnnnnnn", "EAnnnnnnn"))
    )


def account(draw: Random) -> str:
    return fill(
        draw, draw.choice(("nnnnn", "nnnnnn", "nnnnnnnn", "aannnnn", "a-nnnnn", "nnn-nnn-nnn"))
    )


def order(draw: Random) -> str:
    forms = ("nnnnn", "nnnnnnn", "aa-nnnnn", "aannnnnn", "aaannn", "#nnnnn", "nnn-nnnnnnn-nnnnnnn")
    return fill(draw, draw.choice(forms)).lstrip("#")


def code(draw: Random) -> str:
    forms = (
        "1Zannnnnnnnnnnnnn",
        "9400nnnnnnnnnnnnnn",
        "aannnnnnnnnaa",
        "anannannana",
        "nnnnnnnnnnnn7",
    )
    return fill(draw, draw.choice(forms))


def secret(draw: Random) -> str:
    return digits(draw, draw.choice((3, 4, 6)))


def plate_en(draw: Random) -> str:
    forms = (
        f"{letters(draw, 2, 'ABCDEFGHKLMNPRSV')}{draw.randint(10, 72)} {letters(draw, 3)}",
        f"{letters(draw, 3)} {digits(draw, 4)}",
        f"{letters(draw, 3)}-{digits(draw, 4)}",
        f"{draw.randint(1, 9)}{letters(draw, 3)}{digits(draw, 3)}",
        f"{letters(draw, 3)} {digits(draw, 3)}",
    )
    return draw.choice(forms)


def plate_zh(draw: Random) -> str:
    city = draw.choice("京沪粤苏浙鲁川闽鄂湘") + letters(draw, 1, "ABCDEFG")
    dot = draw.choice(("", "", "·", " "))
    return (
        city
        + dot
        + draw.choice(
            (digits(draw, 5), f"{letters(draw, 1)}{digits(draw, 4)}", f"D{digits(draw, 5)}")
        )
    )


def ip(draw: Random) -> str:
    four = ".".join(str(draw.randint(1, 254)) for _ in range(3))
    four = f"{draw.choice((10, 81, 172, 192, 203))}.{four}"
    six = ":".join(f"{draw.randint(1, 65535):x}" for _ in range(8))
    return draw.choice((four, four, six, f"2001:db8::{draw.randint(16, 65535):x}"))
