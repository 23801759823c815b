import pytest

from dialogist.language.detection import language_of

GERMAN = (
    "Das Treffen wurde auf Montag verschoben, weil Anna krank war und Peter in Berlin ist, wo er "
    "seine Eltern besucht und danach gleich weiter nach Hamburg fährt."
)
POLISH = (
    "Spotkanie zostało przełożone na poniedziałek, bo Anna była chora, a Piotr jest w domu, gdzie "
    "odwiedza rodziców, zanim pojedzie dalej pociągiem pospiesznym."
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("They decide to meet on Monday because Ann was ill and Peter is in Berlin.", "en"),
        ("ok :)", "en"),
        ("用户询问订单什么时候到。客服回答明天。", "zh"),
        ("咨询iPhone的价格", "zh"),
        (GERMAN, ""),
        (POLISH, ""),
        ("会議は月曜日に延期されました", ""),
        ("Встреча перенесена на понедельник", ""),
        ("회의가 월요일로 연기되었습니다", ""),
        ("", ""),
        ("123 :-)", ""),
        # Short texts, slang and names.
        ("Hallo, kommst du heute?\nNein, ich bin krank.", ""),
        ("Guten Tag, mein Paket ist nicht da.\nDas tut mir leid, ich schaue nach.", ""),
        ("Bonjour, ma commande n'est pas arrivée.", ""),
        ("Hola, vienes esta noche?\nSí, a las ocho.", ""),
        ("Oi, você vem hoje?\nSim, às oito horas.", ""),
        ("heyyy r u coming tmrw", "en"),
        ("nooo!! gotta work till 5 lol", "en"),
        ("Hi Jose, this is Maria Gonzalez.", "en"),
    ],
)
def test_languages_are_told_by_script_and_function_words(text, language):
    assert language_of(text) == language


def test_a_garbled_summary_of_an_english_text_is_english():
    garbled = "Luigi ponte gara mesa Ann tavolo"
    assert language_of(garbled) == ""
    assert language_of(garbled, about="en") == "en"


def test_attachments_and_figures_are_in_no_language():
    blob = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA/+8" * 300
    figures = "1204,17,3.5\n" * 1000
    said = "I cannot log in, and here is the screenshot that you asked me for yesterday evening."
    for attached in (blob, figures):
        assert language_of(f"{attached}\n{said}") == "en"
        assert language_of(f"{attached}\nIch kann mich nicht anmelden, und das seit gestern.") == ""
