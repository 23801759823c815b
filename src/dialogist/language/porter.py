"""The Porter stemmer (Porter 1980), with the extensions that NLTK has by default.

Written here and not imported: ``import nltk`` runs the whole package, a quarter of a second to one
at the start of every command. The tests hold it against NLTK's, word by word.
"""

from functools import lru_cache

from dialogist.language.tokens import IRREGULAR, word_set


def _table(text: str) -> dict[str, str]:
    """``ational=ate`` as an entry; an ending that goes has nothing behind the sign."""
    return {ending: instead for ending, _, instead in (x.partition("=") for x in text.split())}


# The steps would make something else of these.
_IRREGULAR = _table("""
skies=sky dying=die lying=lie tying=tie innings=inning outings=outing cannings=canning
""")
_KEPT = word_set("sky news inning outing canning howe proceed exceed succeed")

_STEP_2 = _table("""
ational=ate tional=tion enci=ence anci=ance izer=ize bli=ble alli=al entli=ent eli=e ousli=ous
ization=ize ation=ate ator=ate alism=al iveness=ive fulness=ful ousness=ous aliti=al iviti=ive
biliti=ble fulli=ful
""")
_STEP_3 = _table("icate=ic ative= alize=al iciti=ic ical=ic ful= ness=")
_STEP_4 = _table("""
al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize
""")


def porter_stem(word: str) -> str:
    """The stem of a word, in small letters."""
    stem = word.lower()
    if len(word) <= 2 or stem in _KEPT:
        return stem
    if stem in _IRREGULAR:
        return _IRREGULAR[stem]
    stem = _without_past(_without_plural(stem))
    if stem.endswith("y") and _kinds(stem[:-1]).endswith("c") and len(stem) > 2:
        stem = f"{stem[:-1]}i"
    if stem.endswith("alli") and _measure(stem[:-4]):
        stem = stem[:-2]
    if stem.endswith("logi") and _measure(stem[:-3]):  # the l counts: "geo" is enough
        stem = stem[:-1]
    stem = _replaced(_replaced(stem, _STEP_2), _STEP_3)
    if not stem.endswith("ion") or stem[-4:-3] in ("s", "t"):
        stem = _replaced(stem, _STEP_4, 2)
    if stem.endswith("e"):
        measure = _measure(stem[:-1])
        if measure > 1 or (measure == 1 and not _is_short(stem[:-1])):
            stem = stem[:-1]
    return stem[:-1] if stem.endswith("ll") and _measure(stem[:-1]) > 1 else stem


def _kinds(text: str) -> str:
    """``c`` for each consonant and ``v`` for each vowel; y is a vowel behind a consonant."""
    kinds = ""
    for letter in text:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if is_vowel else "c"
    return kinds


def _measure(text: str) -> int:
    """How often a consonant follows a vowel."""
    return _kinds(text).count("vc")


def _is_short(text: str) -> bool:
    """Whether it ends with consonant, vowel, consonant (not w, x, y), or is vowel and consonant."""
    kinds = _kinds(text)
    return kinds == "vc" or (kinds.endswith("cvc") and text[-1] not in "wxy")


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    """Without "ed" and "ing", and with what these took from the end."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    stem = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    kinds = _kinds(stem)
    if stem == word or "v" not in kinds:
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if stem[-2:-1] == stem[-1] and kinds.endswith("c"):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _is_short(stem) else stem


def _replaced(word: str, rules: dict[str, str], least: int = 1) -> str:
    """With the first ending of ``rules`` replaced, if what stands before it measures enough."""
    ending = next((end for end in rules if word.endswith(end)), None)
    if ending is None or _measure(word.removesuffix(ending)) < least:
        return word
    return word.removesuffix(ending) + rules[ending]


# By stems: "purchases" is no form in the list, but its stem is that of one.
_STEMS: dict[str, str] = {porter_stem(form): porter_stem(b) for form, b in IRREGULAR.items()}
_KEPT_STEMS = 1 << 13  # words; stemming takes a hundred times as long as looking up
_LONGEST = 40  # letters of a word; a longer row of them is none


@lru_cache(maxsize=_KEPT_STEMS)
def stem_of(word: str) -> str:
    """The stem of a lower-cased word: Porter's, of its base form where it is irregular."""
    if len(word) > _LONGEST:
        return word
    stem = porter_stem(word)
    return _STEMS.get(stem, stem)
