import pytest

from dialogist.metrics.base import concatenate, letters, reads, unread
from dialogist.metrics.bleu import Bleu, Chrf
from dialogist.metrics.rouge import PyRouge, Rouge


def test_letters_by_script():
    found = letters(
        ["Ann café 3.5", "客服 Ann", "かなカナ々", "Анна", "한국", "ＡＢ ﾊ", "\ud800👍\u0000"]
    )
    assert found == {
        "latin": 3 + 4 + 3 + 2,
        "cjk": 3,
        "hiragana": 2,
        "katakana": 3,
        "cyrillic": 4,
        "hangul": 2,
    }
    assert letters([]) == {}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Rouge(), {}),
        (Chrf(), {}),
        (Bleu("13a"), {"cjk": 0.75}),
        (Bleu("zh"), {}),
        (PyRouge(), {"cjk": 0.75}),
        (concatenate(PyRouge()), {"cjk": 0.75}),
    ],
)
def test_what_a_metric_cannot_read(metric, expected):
    assert unread(metric, ["客服回答：", "ok 订单"]) == expected
    assert unread(metric, ["", "3.5 %"]) == {}


def test_the_share_is_of_all_letters_most_first():
    assert unread(PyRouge(), ["abcd", "客服", "Аннa"]) == {"cyrillic": 0.3, "cjk": 0.2}


def test_a_metric_of_no_words_reads_all():
    class Length:
        name = signature = "length"
        columns = ()

        def measure(self, case):
            return ()

    assert reads(Length(), "thai")
