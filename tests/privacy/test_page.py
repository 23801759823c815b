"""What docs/privacy.md shows is what comes out."""

import doctest
import re
from pathlib import Path

from dialogist.privacy.checks import CHECKS
from dialogist.privacy.options import described_kinds
from dialogist.privacy.packs import RuleConfig, parse_pack

PAGE = Path(__file__).resolve().parents[2] / "docs" / "privacy.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_examples_in_python():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried) == (0, 11)


def test_the_pack_of_the_page_is_one():
    (pack,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert parse_pack(pack).kinds == {"BADGE": "staff badges"}


def test_every_kind_key_and_check_is_described():
    for name in (*described_kinds(), *RuleConfig.model_fields, *CHECKS):
        assert f"`{name}`" in TEXT or f"{name}:" in TEXT, name
