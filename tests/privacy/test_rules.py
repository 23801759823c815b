"""Check digits: published examples are right, each with one digit changed is wrong."""

import pytest

from dialogist.language.entities import is_card, is_iban, is_resident_id, is_ssn
from dialogist.privacy.rules import CHECKS


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (is_card, "4111 1111 1111 1111"),
        (is_card, "378282246310005"),
        (is_iban, "GB29 NWBK 6016 1331 9268 19"),
        (is_iban, "DE89370400440532013000"),
        (is_resident_id, "11010519491231002X"),
        (is_resident_id, "11010519491231002x"),
    ],
)
def test_published_examples(check, value):
    assert check(value)
    place = next(i for i in range(len(value) - 2, 0, -1) if value[i].isdigit())
    changed = value[:place] + str((int(value[place]) + 1) % 10) + value[place + 1 :]
    assert not check(changed)


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ("123-45-6789", True),
        ("123456789", True),
        ("000-45-6789", False),
        ("666-45-6789", False),
        ("900-45-6789", False),
        ("123-00-6789", False),
        ("123-45-0000", False),
        ("12345678", False),
    ],
)
def test_social_security_numbers_that_were_never_given_out(value, right):
    assert is_ssn(value) is right


@pytest.mark.parametrize(
    ("value", "right"),
    [("AB 12 34 56 C", True), ("BG123456A", False), ("DA123456C", False), ("AB123456E", False)],
)
def test_national_insurance_numbers(value, right):
    assert CHECKS["nino"](value) is right


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("text", ["", "-", "汉字", "١٢٣", "X" * 40, "²²²²²²²²²²²²²²²²²X"])
def test_no_check_fails_on_any_text(name, text):
    assert CHECKS[name](text) is False
