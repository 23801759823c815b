"""One function per corpus: its record in, our dialogue out."""

import re
from collections.abc import Callable

from dialogist.data.readers.base import BadRecord
from dialogist.data.readers.fields import (
    id_of,
    list_of,
    missing,
    pair,
    pairs_of,
    rest_of,
    said,
    text_of,
    texts_of,
    turns_of,
)
from dialogist.data.readers.parsing import Record
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.rows import kind_of
from dialogist.data.readers.speaker_lines import BRACKETS, DIALOGSUM, MTS, SAMSUM, utterances_of
from dialogist.records import JSON, Dialogue, Utterance
from dialogist.text.sentences import split_sentences

_NUMBERED_SUMMARY = re.compile(r"summary\d*")


def dialogsum(record: Record) -> Dialogue:
    """DialogSum (Chen et al. 2021): one summary in training rows, ``summary1..3`` in test rows."""
    summaries = sorted(key for key in record if _NUMBERED_SUMMARY.fullmatch(key))
    if not summaries:
        raise missing("summary", record)
    return Dialogue(
        said(utterances_of(text_of(record, "dialogue"), DIALOGSUM)),
        id=id_of(record, "fname"),
        references=tuple(text_of(record, key) for key in summaries),
        metadata=rest_of(record, "fname", "dialogue", *summaries),
    )


def samsum(record: Record) -> Dialogue:
    """SAMSum (Gliwa et al. 2019): chat lines, one utterance each."""
    return _from_text(record, SAMSUM, "summary")


def mts_dialog(record: Record) -> Dialogue:
    """MTS-Dialog (Ben Abacha et al. 2023): a visit and one section of its clinical note."""
    return _from_text(record, MTS, "summary")


def aci_bench(record: Record) -> Dialogue:
    """ACI-Bench (Yim et al. 2023): a whole visit and its whole note."""
    return _from_text(record, BRACKETS, "note", "encounter_id")


def _from_text(
    record: Record, pattern: re.Pattern[str], summary: str, identity: str = "id"
) -> Dialogue:
    return Dialogue(
        said(utterances_of(text_of(record, "dialogue"), pattern)),
        id=id_of(record, identity),
        references=(text_of(record, summary),),
        metadata=rest_of(record, identity, "dialogue", summary),
    )


def tweetsumm(record: Record) -> Dialogue:
    """TweetSumm (Feigenblat et al. 2021): tweets without names, their roles guessed upstream.

    Where no guess came along the speaker stays empty: customers often write twice in a row (a
    quarter of neighbouring tweets share their role), so taking turns would name people wrongly.
    """
    tweets = texts_of(record, "turns")
    roles = texts_of(record, "role_guess") if record.get("role_guess") else ("",) * len(tweets)
    if len(roles) != len(tweets):
        raise BadRecord(f"{len(roles)} items in 'role_guess' for {len(tweets)} in 'turns'")
    turns = zip(tweets, roles, strict=True)
    return Dialogue(
        said(Utterance(role.capitalize(), tweet, role_of(role) or role) for tweet, role in turns),
        id=id_of(record),
        references=texts_of(record, "summaries"),
        metadata=rest_of(record, "id", "turns", "role_guess", "summaries"),
    )


def todsum(record: Record) -> Dialogue:
    """TODSum (Zhao et al. 2021): task dialogues; the true state stays in the metadata."""
    if "dst_str" not in record:
        raise missing("dst_str", record)
    return Dialogue(
        turns_of(record, "turns"),
        id=id_of(record),
        references=(text_of(record, "summary"),),
        metadata=rest_of(record, "id", "turns", "summary"),
    )


def csds(record: Record) -> Dialogue:
    """CSDS (Lin et al. 2021): Chinese customer service; a summary per topic, joined to one."""
    topics = pairs_of(record, "topic_summaries")
    kept: list[JSON] = [[topic, text] for topic, text in topics]
    return Dialogue(
        turns_of(record, "turns"),
        id=id_of(record),
        references=("".join(text for _, text in topics),) if topics else (),
        metadata={"topics": kept, **rest_of(record, "id", "turns", "topic_summaries")},
    )


def qmsum(record: Record) -> Dialogue:
    """QMSum (Zhong et al. 2021): meetings; the answers to the general queries are the summaries."""
    general = [_query(item, "general") for item in list_of(record, "general")]
    specific = [_query(item, "specific") for item in list_of(record, "specific")]
    queries: list[JSON] = [[query, answer] for query, answer in (*general, *specific)]
    return Dialogue(
        turns_of(record, "turns"),
        id=id_of(record),
        references=tuple(dict.fromkeys(answer for _, answer in general)),
        metadata={
            "queries": queries,
            "specific": record["specific"],
            **rest_of(record, "id", "turns", "general", "specific"),
        },
    )


def _query(item: JSON, key: str) -> tuple[str, str]:
    if isinstance(item, dict):
        return text_of(item, "query"), text_of(item, "answer")
    if isinstance(item, list):
        return pair(item, f"'{key}'")
    raise BadRecord(f"'{key}' holds {kind_of(item)}, not queries with their answers")


def xsum(record: Record) -> Dialogue:
    """XSum (Narayan et al. 2018): no dialogue at all, so one nameless speaker of sentences."""
    document = text_of(record, "document")
    return Dialogue(
        said(Utterance("", sentence) for sentence in split_sentences(document)),
        id=id_of(record),
        references=(text_of(record, "summary"),),
        metadata=rest_of(record, "id", "document", "summary"),
    )


def pretrain(record: Record) -> Dialogue:
    """Plain dialogues without summaries: ``id`` and ``turns`` of ``[speaker, text]``."""
    return Dialogue(
        turns_of(record, "turns"), id=id_of(record), metadata=rest_of(record, "id", "turns")
    )


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
