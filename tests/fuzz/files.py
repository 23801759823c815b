"""Files of every format, damaged by chance: a seed and a number always give the same."""

import gzip
import json
import random
from collections.abc import Callable

from tests.fuzz.dialogues import SPEAKERS, TURNS, Chance

_Turns = list[tuple[str, str]]


def file_of(seed: int, number: int) -> bytes:
    """The bytes of file ``number`` of a run."""
    chance = random.Random(f"file {seed}:{number}")
    turns = [(chance.choice(SPEAKERS), chance.choice(TURNS)) for _ in range(chance.randint(1, 8))]
    data = chance.choice(FORMATS)(turns).encode(
        chance.choice(("utf-8",) * 6 + ("utf-16", "gb18030"))
    )
    for _ in range(chance.choice((0, 1, 1, 2, 5, 20))):
        data = chance.choice(DAMAGES)(data, chance)
    if chance.random() < 0.05:
        data = gzip.compress(data, mtime=0)
        data = data[: chance.choice((len(data), len(data) // 2))]
    return data


def _transcript(turns: _Turns) -> str:
    return "".join(f"{name}: {text}\n" for name, text in turns)


def _stamped(turns: _Turns) -> str:
    return "".join(f"[00:0{i}:07] {name}: {text}\n" for i, (name, text) in enumerate(turns))


def _generic(turns: _Turns) -> str:
    record = {"id": "a", "turns": [{"speaker": name, "text": text} for name, text in turns]}
    return (json.dumps(record) + "\n") * 2


def _chat(turns: _Turns) -> str:
    messages = [{"role": "user", "content": text, "name": name} for name, text in turns]
    return json.dumps([{"messages": messages}], indent=1)


def _lines(turns: _Turns) -> str:
    text = "\r\n".join(f"{name}: {text}" for name, text in turns)
    return json.dumps({"id": "13", "dialogue": text, "summary": "They talk."}) + "\n"


def _dialogsum(turns: _Turns) -> str:
    text = "\n".join(f"#Person{1 + i % 2}#: {text}" for i, (_, text) in enumerate(turns))
    return json.dumps({"fname": "x_1", "dialogue": text, "summary": "s", "topic": "t"}) + "\n"


def _csv(turns: _Turns) -> str:
    rows = "".join(f'1,{name},"{text}"\n' for name, text in turns)
    return f"dialogue_id,speaker,text\n{rows}"


def _tsv(turns: _Turns) -> str:
    return "id\tspeaker\ttext\n" + "".join(f"1\t{name}\t{text}\n" for name, text in turns)


def _srt(turns: _Turns) -> str:
    return "".join(
        f"{i}\n00:00:0{i},000 --> 00:00:0{i},900\n{name}: {text}\n\n"
        for i, (name, text) in enumerate(turns, 1)
    )


def _vtt(turns: _Turns) -> str:
    cues = "".join(
        f"00:0{i}.000 --> 00:0{i}.900\n<v {name}>{text}</v>\n\n"
        for i, (name, text) in enumerate(turns, 1)
    )
    return f"WEBVTT\n\n{cues}"


def _whatsapp(turns: _Turns) -> str:
    return "".join(f"12/05/23, 10:0{i} - {name}: {text}\n" for i, (name, text) in enumerate(turns))


def _email(turns: _Turns) -> str:
    return "".join(
        f"From: {name} <{i}@x.org>\nDate: Mon, 3 Mar 2025 09:1{i}:00 +0000\n\n{text}\n\n"
        for i, (name, text) in enumerate(turns)
    )


def _whisper(turns: _Turns) -> str:
    segments = [{"start": 1, "end": 2, "text": text, "speaker": name} for name, text in turns]
    return json.dumps({"segments": segments, "text": "x", "language": "en"})


FORMATS: tuple[Callable[[_Turns], str], ...] = (
    _transcript,
    _stamped,
    _generic,
    _chat,
    _lines,
    _dialogsum,
    _csv,
    _tsv,
    _srt,
    _vtt,
    _whatsapp,
    _email,
    _whisper,
)


def _flip(data: bytes, chance: Chance) -> bytes:
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes((chance.randrange(256),)) + data[place + 1 :]


def _cut(data: bytes, chance: Chance) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[min(end, start + 40) :]


def _double(data: bytes, chance: Chance) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _end(data: bytes, chance: Chance) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _insert(data: bytes, chance: Chance) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(PIECES) + data[place:]


PIECES = (
    *(b"\x00", b"\n\n", b'"', b"\\", b"\\ud83d", b"{", b"}" * 50, b"[" * 3000, b"\xff\xfe", b","),
    *(b"---\n", b"\r", b"null", b"NaN", b"1e999", b"9" * 5000, b"\x1f\x8b", b"\t", b"\xef\xbb\xbf"),
    *(b"00:00:99,999 --> x", b"WEBVTT\n", b": ", "\u2028\U0010f000".encode(), b"a" * 10_000),
)
DAMAGES = (_flip, _flip, _cut, _double, _end, _insert, _insert)
