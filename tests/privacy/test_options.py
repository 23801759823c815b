"""What is masked, from what a person says."""

import pytest

from dialogist.errors import UsageError
from dialogist.privacy.masks import mask_texts
from dialogist.privacy.options import described_kinds, privacy_of

TEXT = "Call 415-555-0132, see https://example.com/a, use 9400111899223817, mail a@b.com"


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", {"PHONE", "CODE", "EMAIL"}),
        ("phone, email", {"PHONE", "EMAIL"}),
        ("+URL,-CODE", {"PHONE", "EMAIL", "URL"}),
        ("all,-PHONE", {"CODE", "EMAIL", "URL"}),
        ("-all", set()),
    ],
)
def test_kinds(kinds, expected):
    _, table = mask_texts([TEXT], privacy_of(kinds))
    assert set(table.counts()) == expected


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"kinds": "PHON"}, "there is no such kind; did you mean 'PHONE'"),
        ({"kinds": "PERSON"}, "names of people are masked with --names"),
        ({"names": "speeker"}, "must be one of none, speakers, people, all; did you mean"),
    ],
)
def test_what_is_not_there(call, said):
    with pytest.raises(UsageError, match=said):
        privacy_of(**call)


def test_a_pack_of_ones_own_comes_first_and_keeps(tmp_path):
    path = tmp_path / "acme.yaml"
    path.write_text(
        "name: acme\nlanguage: en\nversion: 1\nkinds: {BADGE: badges}\n"
        "keep: ['415-555-0132']\n"
        "rules: [{kind: BADGE, entity: CODE_, examples: ['']}]\n".replace(
            "entity: CODE_, examples: ['']", "entity: ORDER, examples: ['[[9400111899223817]]']"
        )
    )
    done, _ = mask_texts([TEXT], privacy_of(packs=[path]))
    assert done[0].text == (
        "Call 415-555-0132, see https://example.com/a, use [CODE_1], mail [EMAIL_1]"
    ).replace("[CODE_1]", "[BADGE_1]")
    assert described_kinds([path])["BADGE"] == ("badges", True)
    assert described_kinds()["URL"] == ("web addresses", False)
