"""What Presidio's own recognizers find in each line of standard input, with a least score.

Run by `masks.py` with a Python of its own; Presidio's NLP engine is off.
"""

import inspect
import json
import sys

import spacy
from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
from presidio_analyzer import predefined_recognizers as every
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from spacy.language import Language


@Language.component("small")
def small(doc):
    """Small letters as lemmas: context words are compared by lemma."""
    for token in doc:
        token.lemma_ = token.text.lower()
    return doc


class Off(SpacyNlpEngine):
    """No model."""

    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}
        self.nlp["en"].add_pipe("small")

    def load(self):
        """Nothing is to be loaded."""


registry = RecognizerRegistry(supported_languages=["en"])
for _, kind in inspect.getmembers(every, inspect.isclass):
    if issubclass(kind, PatternRecognizer) or kind.__name__ == "PhoneRecognizer":
        registry.add_recognizer(kind(supported_language="en"))
engine = AnalyzerEngine(registry=registry, nlp_engine=Off(), supported_languages=["en"])
for line in sys.stdin:
    found = engine.analyze(json.loads(line), language="en", score_threshold=float(sys.argv[1]))
    print(json.dumps([[r.start, r.end] for r in found]), flush=True)
