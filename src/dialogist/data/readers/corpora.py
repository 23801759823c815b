"""One function per corpus: its record in, our dialogue out."""

import re
from collections.abc import Callable, Iterable

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.fields import (
    Record,
    id_under,
    json_kind,
    list_under,
    missing_key,
    other_keys,
    pairs_under,
    require_text,
    text_pair,
    text_under,
    texts_under,
    turns_under,
)
from dialogist.data.readers.json_records import FileHead
from dialogist.data.readers.speaker_lines import BRACKETS, DIALOGSUM, MTS, SAMSUM, split_utterances
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.text.roles import role_of
from dialogist.text.tokens import split_sentences

_NUMBERED_SUMMARY = re.compile(r"summary\d*")


def dialogsum(record: Record) -> Dialogue:
    """DialogSum (Chen et al. 2021): one summary in training rows, ``summary1..3`` in test rows."""
    summaries = sorted(key for key in record if _NUMBERED_SUMMARY.fullmatch(key))
    if not summaries:
        raise missing_key("summary", record)
    return _from_text(record, DIALOGSUM, *summaries, identity="fname")


def samsum(record: Record) -> Dialogue:
    """SAMSum (Gliwa et al. 2019): chat lines, one utterance each."""
    return _from_text(record, SAMSUM, "summary")


def mts_dialog(record: Record) -> Dialogue:
    """MTS-Dialog (Ben Abacha et al. 2023): a visit and one section of its clinical note."""
    return _from_text(record, MTS, "summary")


def aci_bench(record: Record) -> Dialogue:
    """ACI-Bench (Yim et al. 2023): a whole visit and its whole note."""
    return _from_text(record, BRACKETS, "note", identity="encounter_id")


def _from_text(
    record: Record, pattern: re.Pattern[str], *summaries: str, identity: str = "id"
) -> Dialogue:
    turns = split_utterances(text_under(record, "dialogue"), pattern)
    return _made(record, "dialogue", turns, *summaries, identity=identity)


def _made(
    record: Record,
    key: str,
    utterances: Iterable[Utterance],
    *summaries: str,
    identity: str = "id",
) -> Dialogue:
    """The dialogue that stands under ``key``, with its summaries; the rest is metadata."""
    return Dialogue(
        require_text(utterances),
        id=id_under(record, identity),
        references=tuple(text_under(record, one) for one in summaries),
        metadata=other_keys(record, identity, key, *summaries),
    )


def tweetsumm(record: Record) -> Dialogue:
    """TweetSumm (Feigenblat et al. 2021): tweets without names, their roles guessed upstream.

    Where no guess came along the speaker stays empty: customers often write twice in a row (a
    quarter of neighbouring tweets share their role), so taking turns would name people wrongly.
    """
    tweets = texts_under(record, "turns")
    roles = texts_under(record, "role_guess") if record.get("role_guess") else ("",) * len(tweets)
    if len(roles) != len(tweets):
        raise BadRecord(f"{len(roles)} items in 'role_guess' for {len(tweets)} in 'turns'")
    turns = zip(tweets, roles, strict=True)
    return Dialogue(
        require_text(
            Utterance(role.capitalize(), tweet, role_of(role) or role) for tweet, role in turns
        ),
        id=id_under(record),
        references=texts_under(record, "summaries"),
        metadata=other_keys(record, "id", "turns", "role_guess", "summaries"),
    )


def todsum(record: Record) -> Dialogue:
    """TODSum (Zhao et al. 2021): task dialogues; the true state stays in the metadata."""
    if "dst_str" not in record:
        raise missing_key("dst_str", record)
    return _made(record, "turns", turns_under(record, "turns"), "summary")


def csds(record: Record) -> Dialogue:
    """CSDS (Lin et al. 2021): Chinese customer service; a summary per topic, joined to one."""
    topics = pairs_under(record, "topic_summaries")
    kept: list[JSON] = [[topic, text] for topic, text in topics]
    return Dialogue(
        turns_under(record, "turns"),
        id=id_under(record),
        references=("".join(text for _, text in topics),) if topics else (),
        metadata={"topics": kept, **other_keys(record, "id", "turns", "topic_summaries")},
    )


def qmsum(record: Record) -> Dialogue:
    """QMSum (Zhong et al. 2021): meetings; the answers to the general queries are the summaries."""
    general = [_query(item, "general") for item in list_under(record, "general")]
    specific = [_query(item, "specific") for item in list_under(record, "specific")]
    queries: list[JSON] = [[query, answer] for query, answer in (*general, *specific)]
    return Dialogue(
        turns_under(record, "turns"),
        id=id_under(record),
        references=tuple(dict.fromkeys(answer for _, answer in general)),
        metadata={
            "queries": queries,
            "specific": record["specific"],
            **other_keys(record, "id", "turns", "general", "specific"),
        },
    )


def _query(item: JSON, key: str) -> tuple[str, str]:
    if isinstance(item, dict):
        return text_under(item, "query"), text_under(item, "answer")
    if isinstance(item, list):
        return text_pair(item, f"'{key}'")
    raise BadRecord(f"'{key}' holds {json_kind(item)}, not queries with their answers")


def xsum(record: Record) -> Dialogue:
    """XSum (Narayan et al. 2018): no dialogue at all, so one nameless speaker of sentences."""
    sentences = split_sentences(text_under(record, "document"))
    return _made(record, "document", (Utterance("", one) for one in sentences), "summary")


def pretrain(record: Record) -> Dialogue:
    """Plain dialogues without summaries: ``id`` and ``turns`` of ``[speaker, text]``."""
    return _made(record, "turns", turns_under(record, "turns"))


CORPORA: dict[str, Callable[[Record], Dialogue]] = {
    "dialogsum": dialogsum,
    "samsum": samsum,
    "tweetsumm": tweetsumm,
    "todsum": todsum,
    "csds": csds,
    "mts_dialog": mts_dialog,
    "aci_bench": aci_bench,
    "qmsum": qmsum,
    "xsum": xsum,
    "pretrain": pretrain,
}


def is_pretrain(head: FileHead) -> bool:
    """Rows of nothing but an id and pairs."""
    turns = head.record.get("turns")
    pairs = isinstance(turns, list) and all(isinstance(turn, list) for turn in turns)
    return head.shape == "rows" and head.keys == {"id", "turns"} and pairs
