"""NLTK's Porter stemmer, without the rest of NLTK.

``import nltk`` runs the whole package, and SciPy's statistics where that is installed: a quarter of
a second to one of the start of every command, for one file. So that file is imported from packages
that hold nothing but their folders, which are taken away again: who imports NLTK gets all of it.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def _stemmer() -> Any:
    if "nltk" not in sys.modules and (found := find_spec("nltk")) and found.origin:
        folder = Path(found.origin).parent
        for name, path in (("nltk", folder), ("nltk.stem", folder / "stem")):
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(path)]
        try:
            return _imported()
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == "nltk"]:
                del sys.modules[name]
    return _imported()


def _imported() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer


PorterStemmer = _stemmer()
