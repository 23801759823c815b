"""What masks leave and what they take too much: own values in many wordings, ours beside Presidio.

Needs phonenumberslite and python-stdnum. ``--presidio`` names a Python that has presidio-analyzer.

    PYTHONPATH=src python bench/masks.py --presidio PYTHON --clean corpus/*.jsonl
"""

import argparse
import json
import random
import re
import string
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import phonenumbers
import yaml
from stdnum import get_cc_module, iban, luhn

from dialogist import Dialogue, read_dialogues
from dialogist.privacy.masking import mask_dialogue
from dialogist.privacy.packs import privacy_of
from dialogist.records import Utterance

ROOT = Path(__file__).resolve().parents[1]
TEXTS = yaml.safe_load((ROOT / "bench" / "masks.yaml").read_text("utf-8"))
EACH = 56  # values a type, half of them hard
CLEAN = 300  # dialogues
COUNTRIES = "US GB IE CA AU IN DE FR ES IT NL BR MX SE PL ZA NZ"
IBANS = "DE:d18 FR:d23 ES:d20 PL:d24 SE:d20 GB:A4d14 NL:A4d10 IT:A1d22"
DIGITS = "zero one two three four five six seven eight nine"
MONTHS = "January February March April May June July August September October November December"
# What it is called, and its form: D is a date as yymmdd, M the letter of a month in Italy.
NATIONAL = """
us.ssn:social security number:ddd-dd-dddd|us.ssn:SSN:ddddddddd|us.itin:ITIN:9dd-dd-dddd
us.ein:EIN:dd-ddddddd|gb.nhs:NHS number:ddd ddd dddd|gb.utr:UTR:dddddddddd
ie.pps:PPS number:dddddddA|ca.sin:SIN:ddd-ddd-ddd|au.tfn:TFN:ddd ddd ddd
in.aadhaar:Aadhaar:dddd dddd dddd|in.pan:PAN card:AAAPAddddA|de.idnr:tax number:dd ddd ddd ddd
es.dni:DNI:ddddddddA|es.nie:NIE:XdddddddA|fr.nir:numéro de sécu:2 67 06 75 ddd ddd dd
it.codicefiscale:codice fiscale:AAAAAAddMddHdddA|nl.bsn:BSN:ddddddddd|br.cpf:CPF:ddd.ddd.ddd-dd
br.cnpj:CNPJ:dd.ddd.ddd/0001-dd|mx.curp:CURP:RERSDHOCSVSdd|se.personnummer:personnummer:D-dddd
pl.pesel:PESEL:Dddddd|pl.nip:NIP:ddd-ddd-dd-dd|za.idnr:ID number:Ddddd08d
nz.ird:IRD number:dd-ddd-ddd|ch.ssn:AHV number:756.dddd.dddd.dd|pt.nif:NIF:ddddddddd
be.nn:national number:D-ddd.dd|tr.tckimlik:TC kimlik:ddddddddddd
"""
Turns = tuple[tuple[str, str], ...]
Places = set[tuple[int, int]]
"""Characters: turn, place."""


class Case(NamedTuple):
    """A conversation with one value, which stands in pieces: turn, start, end."""

    type: str
    hard: bool
    turns: Turns
    pieces: tuple[tuple[int, int, int], ...]


class Values:
    """Draws values, the same in every run."""

    def __init__(self, part: str) -> None:
        """``fresh`` has names and forms of its own."""
        self._dice = random.Random(part)
        self._names = TEXTS["fresh_names" if part == "fresh" else "names"]
        self.word = ""  # what the last national number is called
        self._made: dict[str, Callable[[str], str]] = {
            "phone": self._phone,
            "card": lambda _: self._checked("4<ddd dddd dddd ddd>"),
            "imei": lambda _: self._checked("35<dddddddddddd>"),
            "iban": self._iban,
            "national": self._national,
            "name": lambda _: self.one(self._names),
            "spoken": self._spoken,
            "spaced": self._spaced,
            "lower": str.lower,
            "upper": str.upper,
        }

    def one(self, choices: Sequence[str]) -> str:
        """One of several."""
        return self._dice.choice(choices)

    def filled(self, form: str, country: str) -> str:
        """A form with everything drawn."""
        head, colon, rest = form.partition(":")
        if colon and head in self._made:
            return self._made[head](self.filled(rest, country) if rest else country)
        first, *_, last = (re.sub("[^a-z]", "", w.lower()) for w in self._made["name"]("").split())
        year, month = str(self._dice.randrange(1935, 2008)), self.one(MONTHS.split())
        known = {
            "first": first or "kim",
            "last": last,
            "day": self._dice.randrange(13, 29),
            "month": month,
            "mon": month[:3],
            "year": year,
            "yy": year[2:],
            "n": self._dice.randrange(6, 10),
            "one": self.one(["one", "four"]),
            "nth": self.one(["third", "twelfth", "twenty first", "thirtieth"]),
            "tens": self.one(["fifty", "sixty", "eighty"]),
            "one_digit": self.one("012"),
        }
        drawn = re.sub("<([^>]*)>", lambda m: self._drawn(m[1]), form)
        return re.sub(r"\{(\w+)\}", lambda m: str(known[m[1]]), drawn)

    def _drawn(self, form: str) -> str:
        kinds = {"d": string.digits, "A": "ABCDEFGHJKLMNPRSTUVWXYZ", "a": string.ascii_lowercase}
        kinds |= {"x": string.ascii_letters + string.digits, "h": string.hexdigits[:16]}
        kinds |= {"M": "ABCDEHLMPRST"}
        return "".join(self.one(kinds[c]) if c in kinds else c for c in form)

    def _checked(self, form: str) -> str:
        body = re.sub("<([^>]*)>", lambda m: self._drawn(m[1]), form)
        return body + luhn.calc_check_digit(body.replace(" ", ""))

    def _iban(self, _: str) -> str:
        form = self.one(IBANS.split())
        country, _, form = form.partition(":")
        body = re.sub(r"([Ad])(\d+)", lambda m: self._drawn(m[1] * int(m[2])), form)
        value = country + iban.calc_check_digits(f"{country}00{body}") + body
        return " ".join(re.findall(".{1,4}", value)) if self._dice.random() < 0.5 else value

    def _national(self, country: str) -> str:
        rows = [row.split(":") for row in re.split(r"[|\n]", NATIONAL.strip())]
        own = [row for row in rows if row[0].startswith(f"{country.lower()}.")]
        name, self.word, form = self._dice.choice(own or rows)
        check = get_cc_module(*name.split("."))
        assert check is not None
        codice = name == "it.codicefiscale"
        while True:
            date = f"{self._dice.randrange(40, 99)}0{self._drawn('d')}1{self.one('0123456')}"
            drawn = (self._drawn(c) if c != "M" or codice else c for c in form)
            value = "".join(date if c == "D" else c for c in drawn)
            if check.is_valid(value):
                return value

    def _phone(self, country: str) -> str:
        kinds = phonenumbers.PhoneNumberType
        kind = self._dice.choice([kinds.MOBILE, kinds.FIXED_LINE])
        example = phonenumbers.example_number_for_type(country, kind)
        start = phonenumbers.national_significant_number(example)[:4]
        length = len(phonenumbers.national_significant_number(example)) - 4
        while True:
            number = phonenumbers.parse(start + self._drawn("d" * length), country)
            if phonenumbers.is_valid_number_for_region(number, country):
                return phonenumbers.format_number(number, self._dice.choice([2, 2, 1]))

    def _spoken(self, text: str) -> str:
        words = [DIGITS.split()[int(c)] for c in text if c.isdigit()]
        return " ".join("oh" if w == "zero" and self._dice.random() < 0.5 else w for w in words)

    def _spaced(self, text: str) -> str:
        way = self._dice.randrange(6)
        if way == 4 and sum(map(str.isdigit, text)) >= 0.8 * sum(map(str.isalnum, text)):
            return self._spoken(text)
        if way == 5:
            half, between = len(text) // 2, self.one(["yes", "got it", "mhm, and then?"])
            head, tail = text[:half].strip(" -./("), text[half:].strip(" -./)")
            return f"[[{head}]] | {between} | [[{tail}]]"
        return re.sub(r"[ ().-]+", " ", text).strip().replace(" ", (".", "_", " - ", "")[way % 4])


def wording(form: str, value: str, word: str) -> str:
    """The wording with the value in ``[[ ]]``; of a name, the parts that it asks for."""
    first, last = value.split(" ")[0], value.split(" ")[-1]
    parts = {"f": first, "l": last, "lower": value.lower(), "lower_f": first.lower()}
    parts |= {"spelled": "-".join(first.upper()), "v": value}
    marked = {key: text if "[[" in text else f"[[{text}]]" for key, text in parts.items()}
    marked["w"] = word
    return re.sub(r"\{(\w+)\}", lambda m: marked[m[1]], form)


def cases(part: str) -> Iterator[Case]:
    """All values of a part."""
    values = Values(part)
    drawn = TEXTS["values"] | (TEXTS["fresh_values"] if part == "fresh" else {})
    countries, settings = COUNTRIES.split(), list(TEXTS["around"])
    for kind, forms in TEXTS[part].items():
        for number in range(EACH):
            level = "hard" if number % 2 else "easy"
            country = countries[number % len(countries)]
            value = values.filled(values.one(drawn[kind][level]), country)
            said = wording(values.one(forms[level]), value, values.word).split(" | ")
            before, after = TEXTS["around"][settings[number % len(settings)]]
            turns: list[tuple[str, str]] = []
            pieces: list[tuple[int, int, int]] = []
            for text in [*before, *([] if len(said) > 1 else ["Go on."]), *said, *after]:
                bare = ""
                for n, piece in enumerate(re.split(r"\[\[|\]\]", text)):
                    pieces += [(len(turns), len(bare), len(bare + piece))] * (n % 2)
                    bare += piece
                turns.append(("AB"[len(turns) % 2], bare))
            yield Case(kind, level == "hard", tuple(turns), tuple(pieces))


def stays(case: Case, masked: Places) -> bool:
    """Whether more than half of the value's letters and digits can still be read."""
    places = [(turn, i) for turn, start, end in case.pieces for i in range(start, end)]
    telling = [(turn, i) for turn, i in places if case.turns[turn][1][i].isalnum()]
    return sum(place not in masked for place in telling) > len(telling) / 2


def ours(turns: Turns, names: str = "none") -> Places:
    """The characters that our masks cover."""
    dialogue = Dialogue(tuple(Utterance(*turn) for turn in turns))
    masked, table = mask_dialogue(dialogue, privacy_of(names=names))
    return {
        (n, i)
        for n, turn in enumerate(masked.utterances)
        for start, end, _ in table.masked(n, turn.text, False).spans
        for i in range(start, end)
    }


PRESIDIO = """
import inspect, json, sys, spacy
from spacy.language import Language
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer import predefined_recognizers as every
from presidio_analyzer.nlp_engine import SpacyNlpEngine
@Language.component("small")  # context words are compared by lemma
def small(doc):
    for token in doc:
        token.lemma_ = token.text.lower()
    return doc
class Off(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}
        self.nlp["en"].add_pipe("small")
    def load(self): pass
registry = RecognizerRegistry(supported_languages=["en"])
for _, kind in inspect.getmembers(every, inspect.isclass):
    if issubclass(kind, PatternRecognizer) or kind.__name__ == "PhoneRecognizer":
        registry.add_recognizer(kind(supported_language="en"))
engine = AnalyzerEngine(registry=registry, nlp_engine=Off(), supported_languages=["en"])
for line in sys.stdin:
    found = engine.analyze(json.loads(line), language="en", score_threshold=float(sys.argv[1]))
    print(json.dumps([[r.start, r.end] for r in found]), flush=True)
"""


def theirs(python: str, dialogues: Sequence[Turns], least: float) -> list[Places]:
    """The characters that Presidio's own recognizers cover, with a score of at least ``least``."""
    lines = "".join(json.dumps("\n".join(text for _, text in d)) + "\n" for d in dialogues)
    command = [python, "-c", PRESIDIO, str(least)]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    found = []
    for turns, line in zip(dialogues, done.stdout.splitlines(), strict=True):
        places = [(n, i) for n, (_, text) in enumerate(turns) for i in range(len(text) + 1)]
        found.append({places[i] for start, end in json.loads(line) for i in range(start, end)})
    return found


def words_masked(turns: Turns, masked: Places) -> Iterator[str]:
    """The words that are covered, each with what stands around it."""
    for n, (_, text) in enumerate(turns):
        for word in re.finditer(r"\w+", text):
            if (n, word.start()) in masked:
                start, end = word.span()
                yield f"{text[max(0, start - 40) : start]}[[{word[0]}]]{text[end : end + 30]}"


def clean_dialogues(files: Sequence[Path]) -> list[Turns]:
    """As many dialogues of each file, the same in every run."""
    dice = random.Random(27)
    share = -(-CLEAN // len(files))
    found = [d for f in files for d in dice.sample(list(read_dialogues(f)), share)][:CLEAN]
    return [tuple((u.speaker, u.text) for u in dialogue.utterances) for dialogue in found]


def main() -> None:
    """Print what stays, by type, as JSON: the measured part of results/masks.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="fresh", choices=("fresh", "seen", "work"))
    parser.add_argument("--presidio", help="a Python that has presidio-analyzer")
    parser.add_argument("--clean", nargs="*", type=Path, default=[], help="files without such data")
    parser.add_argument("--show", action="store_true", help="what stays, and words that are masked")
    given = parser.parse_args()
    every = list(cases(given.part))
    runs = {"ours": [ours(c.turns, "people" if c.type == "name" else "none") for c in every]}
    clean = clean_dialogues(given.clean) if given.clean else []
    words = sum(len(re.findall(r"\w+", text)) for turns in clean for _, text in turns)
    covered = {f"ours, names {n}": [ours(t, n) for t in clean] for n in ("none", "people")}
    for least in (0, 0.4) if given.presidio else ():
        name = f"Presidio from {least}"
        both = theirs(given.presidio, [*(c.turns for c in every), *clean], least)
        runs[name], covered[name] = both[: len(every)], both[len(every) :]
    table = {
        kind: {
            who: [
                sum(stays(c, m) for c, m in zip(every, masked, strict=True) if fits(c, kind, hard))
                for hard in (False, True)
            ]
            for who, masked in runs.items()
        }
        for kind in [*TEXTS[given.part], "all"]
    }
    masked_words = {
        who: [
            word
            for turns, places in zip(clean, found, strict=True)
            for word in words_masked(turns, places)
        ]
        for who, found in covered.items()
    }
    if given.show:
        for case, places in zip(every, runs["ours"], strict=True):
            if stays(case, places) and given.part != "fresh":
                print(case.type, " | ".join(text for _, text in case.turns[2:-2]))
        print(*masked_words["ours, names people"], sep="\n")
    counts = {who: len(found) for who, found in masked_words.items()}
    result = {"values": len(every), "each": EACH // 2, "stays": table}
    result["clean"] = {
        "dialogues": len(clean),
        "words": words,
        "masked": counts,
    }
    print(json.dumps(result, indent=1))


def fits(case: Case, kind: str, hard: bool) -> bool:
    """Whether a value is of a row of the table."""
    return case.hard == hard and kind in (case.type, "all")


if __name__ == "__main__":
    main()
