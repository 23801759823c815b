"""Hours of conversation take hours' time, not its square: nothing is read again for each find."""

from dialogist.records import Dialogue, Utterance
from dialogist.highlights.select import report_dialogue
from dialogist.highlights.ties import ties_of
from dialogist.forms.extract import superseded
from dialogist.forms.extract.extraction import extract

SAID = (
    ("Ann", "My internet is down since Monday and I want a technician."),
    ("Bo", "I will send a technician on Tuesday at 10 am."),
    ("Ann", "Could you confirm that? Is the visit free?"),
    ("Bo", "Yes, I have booked the visit. I will call you tomorrow."),
)


def conversation(rounds):
    return [(name, f"{text} It is number {n}.") for n in range(rounds) for name, text in SAID]


class Counted(list):
    """A list that counts how often it is gone through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_ties_go_through_the_units_a_few_times():
    told = report_dialogue(conversation(30))
    units = Counted(told.units)
    ties_of(told.candidates, units)
    assert 0 < units.times < 20 < len(told.candidates)


def test_a_template_looks_at_each_sentence_a_few_times(monkeypatch):
    seen = []
    for name in ("signals_change", "takes_back"):
        rule = getattr(superseded, name)
        monkeypatch.setattr(
            superseded, name, lambda text, rule=rule: (seen.append(text), rule(text))[1]
        )
    found = extract(Dialogue([Utterance(*one) for one in conversation(30)]))
    sentences = 30 * 10
    assert found.actions
    assert 0 < len(seen) < 10 * sentences
