"""A summary names the licence of the weights that wrote it."""

from dataclasses import replace

from tests.conftest import tiny_bundle

from dialogist import Dialogue, Summarizer, Utterance


def test_the_licence_of_the_model_is_in_its_summaries() -> None:
    chat = Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes, at Luigi's.")))
    bundle = replace(tiny_bundle(), about={"licence": "cc-by-4.0"})
    for dialogue in (chat, Dialogue(())):
        [summary] = Summarizer(bundle).summarize([dialogue])
        assert summary.to_json()["licence"] == "cc-by-4.0"
    [summary] = Summarizer(tiny_bundle()).summarize([chat])
    assert summary.licence == ""
