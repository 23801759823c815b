"""The stemmer comes alone, and NLTK is whole all the same."""

import subprocess
import sys

import pytest

ALONE = """
import sys
from dialogist.text.porter import PorterStemmer
assert PorterStemmer().stem("summarising") == "summaris"
assert not [name for name in sys.modules if name.partition(".")[0] in ("nltk", "scipy")]
from nltk import word_tokenize
from nltk.metrics import BigramAssocMeasures
from nltk.stem import LancasterStemmer
from nltk.stem.porter import PorterStemmer as Whole
assert Whole().stem("summarising") == "summaris"
"""

AFTER_NLTK = """
import sys
import nltk
from dialogist.text.porter import PorterStemmer
assert PorterStemmer is nltk.stem.porter.PorterStemmer
assert sys.modules["nltk"] is nltk
"""


@pytest.mark.parametrize("code", [ALONE, AFTER_NLTK])
def test_nltk_is_not_imported_and_still_whole(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
