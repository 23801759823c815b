"""The stemmer comes alone, and NLTK is whole all the same."""

import subprocess
import sys

CODE = """
import sys
from dialogist.text.porter import PorterStemmer
assert PorterStemmer().stem("summarising") == "summaris"
assert not [name for name in sys.modules if name.partition(".")[0] == "scipy"]
try:
    import scipy.stats
except ImportError:
    sys.exit()
from nltk.metrics import BigramAssocMeasures

# n_ii, (n_ix, n_xi), n_xx: the table 8 2 / 4 6, by hand
expected = scipy.stats.fisher_exact([[8, 2], [4, 6]], alternative="less")[1]
assert BigramAssocMeasures.fisher(8, (10, 12), 20) == expected
"""


def test_scipy_is_not_imported_and_still_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
