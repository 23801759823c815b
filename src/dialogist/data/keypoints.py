"""Key points: what each part of a reference summary is about, by rules.

reference summary -> sentences -> a label each -> key-point sequence and sub-summaries

Liu et al., "Automatic Dialogue Summary Generation for Customer Service", KDD 2019, sections 1 and
3.1. The rules come in packs (`rule_packs`), bundled or a user's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from dialogist.data.rule_packs import SPLITTERS, Language, Rule, first_match, read_rules
from dialogist.errors import ConfigError, nearest
from dialogist.records import Dialogue, SubSummary


class Origin(StrEnum):
    """Why a sentence has its label."""

    rule = "rule"
    inherited = "inherited"
    section = "section"
    default = "default"


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence of a summary: ``summary[start:end]``, stripped.

    ``rule`` is the position of the rule that fits, None where the label comes from elsewhere.
    """

    label: str
    text: str
    start: int
    end: int
    origin: Origin
    rule: int | None = None


_KEPT = 16  # packs


@dataclass(frozen=True, slots=True)
class RulePack:
    """Ordered rules, and the labels they give.

    ``labels`` stand in a fixed order, from which a model's ids come; ``descriptions`` say what each
    means (empty where the pack does not say). ``sections`` are the labels that stand in for
    ``default`` where a record names its section. ``text`` is the pack's YAML, from which
    `parse_pack` makes an equal one.
    """

    name: str
    language: Language
    version: int
    default: str
    labels: tuple[str, ...]
    descriptions: Mapping[str, str] = field(hash=False)
    rules: tuple[Rule, ...]
    sections: Mapping[str, str] = field(hash=False)
    key_facts: tuple[str, ...]
    text: str

    def analyse(self, summary: str, section: str = "") -> tuple[SubSummary, ...]:
        """Cut a summary into sub-summaries; neighbours have different labels.

        Joined, their texts are ``summary`` to the character (KDD 2019, section 3.1: S =
        concat(S_1, ..., S_n)). Without a sentence, white space is about the default; an empty
        summary has no key point.
        """
        sentences = self.analyse_sentences(summary, section)
        starts = [(0, sentences[0].label if sentences else self._first(section)[0])]
        for before, here in pairwise(sentences):
            if here.label != before.label:
                starts.append((before.end, here.label))
        ends = [*(start for start, _ in starts[1:]), len(summary)]
        return tuple(
            SubSummary(label, summary[start:end])
            for (start, label), end in zip(starts, ends, strict=True)
            if end > start
        )

    def analyse_sentences(self, summary: str, section: str = "") -> tuple[LabelledSentence, ...]:
        """Label each sentence, and say why (KDD 2019, section 1).

        The first rule that fits gives the label; where none does, the sentence before; where there
        is none, ``section`` (a key of ``sections``) or else the default.
        """
        label, origin = self._first(section)
        labelled: list[LabelledSentence] = []
        end = 0
        for sentence in SPLITTERS[self.language](summary):
            # Only white space lies between sentences, so the first find is the right one.
            start = summary.index(sentence, end)
            end = start + len(sentence)
            rule = first_match(self.rules, sentence)
            if rule is not None:
                label, origin = self.rules[rule].label, Origin.rule
            labelled.append(LabelledSentence(label, sentence, start, end, origin, rule))
            origin = Origin.inherited
        return tuple(labelled)

    def _first(self, section: str) -> tuple[str, Origin]:
        """The label of a first sentence that no rule fits."""
        if section in self.sections:
            return self.sections[section], Origin.section
        return self.default, Origin.default


@lru_cache(maxsize=_KEPT)
def parse_pack(text: str, source: str = "rule pack") -> RulePack:
    """Make a rule pack of YAML text; ``source`` is what errors call it.

    The last few are kept: to try all examples of a pack takes a while.

    Raises:
        ConfigError: it is at fault somewhere; names the line.
    """
    config, rules = read_rules(text, source)
    return RulePack(
        name=config.name,
        language=config.language,
        version=config.version,
        default=config.default,
        labels=config.label_order(),
        descriptions=MappingProxyType(dict(config.labels or {})),
        rules=rules,
        sections=MappingProxyType(dict(config.sections)),
        key_facts=config.key_facts,
        text=text,
    )


def bundled_packs() -> dict[str, Path]:
    """The rule packs that come with Dialogist, by name."""
    folder = Path(str(resources.files("dialogist") / "assets" / "packs"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_pack(name_or_path: str | Path) -> RulePack:
    """A bundled rule pack by name, or anybody's by the path of its YAML file.

    Raises:
        ConfigError: there is none (names the nearest), it cannot be read, or it is at fault
            somewhere (names the line).
    """
    path, packs = Path(name_or_path), bundled_packs()
    if not path.is_file():
        if str(name_or_path) not in packs:
            raise ConfigError(
                f"rule pack '{name_or_path}': no such file and no pack of that name"
                f"{nearest(str(name_or_path), packs)} (there are: {', '.join(packs)})"
            )
        path = packs[str(name_or_path)]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # not UTF-8
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse_pack(text, str(path))


def section_of(dialogue: Dialogue) -> str:
    """The section that a record says its summary is, such as MTS-Dialog's; else empty."""
    section = dialogue.metadata.get("section")
    return section if isinstance(section, str) else ""
