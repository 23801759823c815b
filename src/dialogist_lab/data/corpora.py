"""Corpora that research uses: one function for each, its record in, our dialogue out.

The readers come to `dialogist.formats` by the entry point ``dialogist.formats``.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from dialogist.formats.fields import (
    Record,
    RecordSelection,
    id_under,
    json_kind,
    list_under,
    missing_key,
    other_keys,
    require_text,
    text_of_value,
    text_pair,
    texts_under,
)
from dialogist.formats.json_records import (
    Convert,
    FileHead,
    Reader,
    convert_records,
    json_values,
)
from dialogist.formats.read_options import BadRecord, Dialogues, Parse, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import assembled
from dialogist.language.roles import role_of
from dialogist.language.tokens import LINE_END, split_sentences
from dialogist.records import JSON, Dialogue, Utterance

# SAMSum has one utterance per line, and names such as "Sid; the Aquaman?" or "June, thanks!".
SAMSUM = re.compile(r"\s*(?P<name>[^:\s][^:]{0,59}?)\s*:(?P<text>.*)", re.DOTALL)
DIALOGSUM = re.compile(r"\s*(?P<name>#[^#:]{1,40}#)\s*:(?P<text>.*)", re.DOTALL)
MTS = re.compile(r"\s*(?P<name>[A-Z][a-z]\w{1,30})\s*:(?P<text>.*)", re.DOTALL)
BRACKETS = re.compile(r"\s*\[(?P<name>[^\[\]]{1,60})\]\s?:?(?P<text>.*)", re.DOTALL)


def dialogsum(record: Record) -> Dialogue:
    """DialogSum (Chen et al. 2021): one summary in training rows, ``summary1..3`` in test rows."""
    summaries = sorted(key for key in record if re.fullmatch(r"summary\d*", key))
    if not summaries:
        raise missing_key("summary", record)
    return _of_lines(record, DIALOGSUM, *summaries, identity="fname")


def samsum(record: Record) -> Dialogue:
    """SAMSum (Gliwa et al. 2019): chat lines, one utterance each."""
    return _of_lines(record, SAMSUM, "summary")


def mts_dialog(record: Record) -> Dialogue:
    """MTS-Dialog (Ben Abacha et al. 2023): a visit and one section of its clinical note."""
    return _of_lines(record, MTS, "summary")


def aci_bench(record: Record) -> Dialogue:
    """ACI-Bench (Yim et al. 2023): a whole visit and its whole note."""
    return _of_lines(record, BRACKETS, "note", identity="encounter_id")


def tweetsumm(record: Record) -> Dialogue:
    """TweetSumm (Feigenblat et al. 2021): tweets without names, their roles guessed upstream.

    Where no guess came along the speaker stays empty: customers often write twice in a row (a
    quarter of neighbouring tweets share their role), so taking turns would name people wrongly.
    """
    tweets = texts_under(record, "turns")
    roles = texts_under(record, "role_guess") if record.get("role_guess") else ("",) * len(tweets)
    if len(roles) != len(tweets):
        raise BadRecord(f"{len(roles)} items in 'role_guess' for {len(tweets)} in 'turns'")
    return Dialogue(
        require_text(
            Utterance(role.capitalize(), tweet, role_of(role) or role)
            for tweet, role in zip(tweets, roles, strict=True)
        ),
        id=id_under(record),
        references=texts_under(record, "summaries"),
        metadata=other_keys(record, "id", "turns", "role_guess", "summaries"),
    )


def todsum(record: Record) -> Dialogue:
    """TODSum (Zhao et al. 2021): task dialogues; the true state stays in the metadata."""
    if "dst_str" not in record:
        raise missing_key("dst_str", record)
    return _made(record, "turns", _paired(record), "summary")


def csds(record: Record) -> Dialogue:
    """CSDS (Lin et al. 2021): Chinese customer service; a summary per topic, joined to one."""
    topics = _pairs(record, "topic_summaries")
    listed: list[JSON] = [[topic, text] for topic, text in topics]
    return Dialogue(
        require_text(_paired(record)),
        id=id_under(record),
        references=("".join(text for _, text in topics),) if topics else (),
        metadata={"topics": listed, **other_keys(record, "id", "turns", "topic_summaries")},
    )


def qmsum(record: Record) -> Dialogue:
    """QMSum (Zhong et al. 2021): meetings; the answers to the general queries are the summaries."""

    def queries(key: str) -> Iterator[tuple[str, str]]:
        for item in list_under(record, key):
            if isinstance(item, dict):
                yield _text_under(item, "query"), _text_under(item, "answer")
            elif isinstance(item, list):
                yield text_pair(item, f"'{key}'")
            else:
                raise BadRecord(f"'{key}' holds {json_kind(item)}, not queries with their answers")

    general = list(queries("general"))
    every: list[JSON] = [[query, answer] for query, answer in (*general, *queries("specific"))]
    return Dialogue(
        require_text(_paired(record)),
        id=id_under(record),
        references=tuple(dict.fromkeys(answer for _, answer in general)),
        metadata={
            "queries": every,
            "specific": record["specific"],
            **other_keys(record, "id", "turns", "general", "specific"),
        },
    )


def xsum(record: Record) -> Dialogue:
    """XSum (Narayan et al. 2018): no dialogue at all, so one nameless speaker of sentences."""
    sentences = split_sentences(_text_under(record, "document"))
    return _made(record, "document", (Utterance("", text) for text in sentences), "summary")


def pretrain(record: Record) -> Dialogue:
    """Plain dialogues without summaries: ``id`` and ``turns`` of ``[speaker, text]``."""
    return _made(record, "turns", _paired(record))


def _paired(record: Record) -> list[Utterance]:
    """The utterances under ``turns``, a list of ``[speaker, text]`` pairs."""
    return [Utterance(name, text, role_of(name)) for name, text in _pairs(record, "turns")]


def _pairs(record: Record, key: str) -> list[tuple[str, str]]:
    return [
        text_pair(item, f"'{key}' item {n}") for n, item in enumerate(list_under(record, key), 1)
    ]


def _made(
    record: Record, key: str, utterances: Iterable[Utterance], *summaries: str, identity: str = "id"
) -> Dialogue:
    """The dialogue that stands under ``key``, with its summaries; the rest is metadata."""
    return Dialogue(
        require_text(utterances),
        id=id_under(record, identity),
        references=tuple(_text_under(record, summary) for summary in summaries),
        metadata=other_keys(record, identity, key, *summaries),
    )


def _of_lines(
    record: Record, pattern: re.Pattern[str], *summaries: str, identity: str = "id"
) -> Dialogue:
    """The text under ``dialogue``; ``pattern`` (groups ``name``, ``text``) begins an utterance."""
    lines = LINE_END.split(_text_under(record, "dialogue"))
    matches = ((line, pattern.fullmatch(line)) for line in lines)
    turns = assembled((line, (m["name"], m["text"]) if m else None) for line, m in matches)
    return _made(record, "dialogue", turns, *summaries, identity=identity)


_KEYS: dict[Callable[[Record], Dialogue], tuple[str, ...]] = {
    dialogsum: ("fname", "dialogue"),
    mts_dialog: ("section", "dialogue", "summary"),
    aci_bench: ("encounter_id", "dialogue", "note"),
    samsum: ("id", "dialogue", "summary"),
    tweetsumm: ("turns", "summaries", "n_tweets_in_annotation"),
    todsum: ("turns", "dst_str"),
    csds: ("turns", "topic_summaries"),
    qmsum: ("turns", "general", "specific"),
    xsum: ("document", "summary"),
    pretrain: ("id", "turns"),
}
"""What tells a record of a corpus; those that are told by little have no other keys."""


def corpus_readers() -> dict[str, Reader]:
    """The readers of all corpora by name."""
    return {
        convert.__name__: Reader(
            _parse_by(convert),
            (convert.__doc__ or "").partition("\n")[0],
            has_fields=True,
            sniff=_sniff(convert),
        )
        for convert in _KEYS
    }


def _parse_by(convert: Convert) -> Parse:
    """A reader of JSON records out of a function from one record to one dialogue."""

    def parse(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
        selection = RecordSelection(options, report)

        def selected(record: Record) -> Dialogue | None:
            return convert(record) if selection.turns(record, ()) is not None else None

        yield from convert_records(json_values(source, report), source, selected, report)
        selection.tell()

    return parse


def _sniff(convert: Callable[[Record], Dialogue]) -> Callable[[FileHead], bool]:
    keys = _KEYS[convert]

    def sniff(head: FileHead) -> bool:
        if convert is pretrain:
            turns = head.record.get("turns")
            is_paired = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
            return head.shape == "rows" and head.keys == set(keys) and is_paired
        return head.keys.issuperset(keys) and (convert is not samsum or len(head.keys) == len(keys))

    return sniff


def _text_under(record: Record, key: str) -> str:
    if key not in record:
        raise missing_key(key, record)
    return text_of_value(record[key], f"key '{key}'")
