"""NLTK's Porter stemmer, without what else comes along where SciPy is installed.

``import nltk`` imports SciPy's statistics for one function of ``nltk.metrics.association``, which
nobody here calls: 0.9 s of the start of every command. It is imported when it is called.
"""

import sys
from typing import Any

_UNUSED = "scipy"

_hidden = _UNUSED not in sys.modules and "nltk" not in sys.modules
if _hidden:
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # importing it fails; NLTK expects that
try:
    from nltk.metrics import association
    from nltk.stem.porter import PorterStemmer
finally:
    if _hidden:
        del sys.modules[_UNUSED]


def _fisher_exact(*arguments: Any, **named: Any) -> Any:
    from scipy.stats import fisher_exact

    return fisher_exact(*arguments, **named)


if _hidden:  # for others who use NLTK in this process
    association.fisher_exact = _fisher_exact

__all__ = ["PorterStemmer"]
