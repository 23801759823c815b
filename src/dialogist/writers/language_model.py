"""A language model as a writer: numbered lines in, statements with the numbers of lines out.

Long dialogues are read in windows whose lines keep their numbers; what was written of each is then
merged by the model. To another machine a dialogue is sent masked, and what comes back is restored.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import TYPE_CHECKING, Any, Protocol

from dialogist.errors import DataError, Declined
from dialogist.language.tokens import counted
from dialogist.privacy.masking import outbound
from dialogist.records import Dialogue, Draft, SummaryOptions, Warning, WriterOutput
from dialogist.writers import DRAFTED
from dialogist.writers.answers import drafts_of, is_refusal, objects_in, without_thoughts
from dialogist.writers.chat import CHARACTERS_A_TOKEN, KEEP, ChatModel, prompt_text

if TYPE_CHECKING:
    from dialogist.forms.form_file import FieldSource, Form, FormSection

_LENGTHS = {"short": (75, 1, 3), "medium": (30, 3, 12), "long": (18, 5, 24)}
"""Words of the dialogue for each statement; at least and at most so many statements."""
_NO_EXAMPLE = (
    'Answer with JSON alone: an object with "statements", a list; each of them has "lines", the '
    'numbers, and "text", the sentence that you write.'
)
_MOST_CITED = 12  # lines of a statement; without a bound a small model counts on for ever
_CONVERSATION = "one conversation as numbered lines"
_NOTES = (
    "notes that were taken of one long conversation part by part, in its order, each behind the "
    "numbers of the lines that it rests on; merge them"
)
_HOLDS: "Mapping[FieldSource, str]" = {
    "headline": "the matter and how it ended, in at most twelve words; one statement",
    "title": "the topic, in at most six words; one statement",
    "issue": "what the matter is: the problem or wish, its cause where one is told",
    "done": "what has been done already",
    "outcome": "how it stands at the end; one statement",
    "decisions": "what was decided or agreed, with its conditions",
    "actions": 'what somebody will still do; "owner": who, "deadline": when, as it was said',
    "questions": "what was asked and stays open",
    "medication": "drugs with their doses: taken, started, changed, stopped",
    "advice": "what the patient is told to do",
    "summary": "what else matters and stands in no other section",
}


class Chat(Protocol):
    """A language model as writers and verifiers ask it."""

    name: str
    masks: bool

    @property
    def context(self) -> int: ...

    def complete(
        self,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        on_text: Callable[[str], None] | None = None,
    ) -> tuple[str, bool]: ...


class LanguageModelWriter:
    """Writes by a language model, any that completes chats, as a `dialogist.writers.Writer`."""

    language = ""

    def __init__(
        self,
        chat: Chat,
        prompt: str | None = None,
        at_once: int = 1,
        max_tokens: int = 1500,
        licence: str = "",
    ) -> None:
        """``prompt``: a file instead of the package's own; the other values as in `ChatConfig`.

        Raises:
            UsageError: the prompt cannot be read.
        """
        self.chat, self.at_once, self.licence = chat, at_once, licence
        self.name = chat.name
        self._max_tokens = max_tokens
        self._prompt = Template(prompt_text(prompt, "write.txt"))

    def write(
        self, dialogue: Dialogue, form: "Form | None", options: SummaryOptions
    ) -> WriterOutput:
        """The model's statements, each with the lines that it cites; `DRAFTED` hears each of a
        dialogue that fits into one window as soon as it is whole.

        Raises:
            DataError: there is no usable answer for this dialogue.
            Declined: the model declines to write.
            ModelError: the model cannot be reached or used at all.
        """
        sent = outbound(dialogue, self.chat.masks)
        if options.focus is not None:  # by the name that the lines have
            options = replace(options, focus=sent.masked(options.focus))
        sections = [s for s in form.sections if holds_of(s)] if form is not None else []
        titles = [section.title for section in sections]
        words = sum(len(u.text.split()) for u in dialogue.utterances)
        system = self._instruction(options, sections, words, _CONVERSATION)
        room = (self.chat.context - self._max_tokens) * CHARACTERS_A_TOKEN - len(system)
        windows = list(windows_of(numbered_lines(sent.dialogue), max(500, room)))
        warnings: list[Warning] = []
        hear, heard = DRAFTED.get(), 0

        def on_text(content: str) -> None:
            nonlocal heard
            answer = without_thoughts(content)
            if answer.count("}") <= heard or not any(objects_in(answer, "text")):
                return
            whole = drafts_of(answer, len(dialogue.utterances), titles)
            for draft in list(_within(whole, options.words))[heard:]:
                heard += 1
                if hear is not None:
                    hear(sent.restored(draft))

        listens = on_text if hear is not None and len(windows) == 1 else None
        while True:
            drafts: list[Draft] = []
            for window in windows:
                drafts += self._drafts(system, window, dialogue, sections, warnings, listens)
            merged = list(windows_of(map(_note, drafts), max(500, room)))
            if len(windows) <= 1 or len(merged) >= len(windows):
                break  # else the notes get shorter: those of all windows become one
            windows = merged
            system = self._instruction(options, sections, words, _NOTES)
        drafts = list(map(sent.restored, _within(drafts, options.words)))
        return WriterOutput(tuple(drafts), tuple(warnings))

    def _instruction(
        self, options: SummaryOptions, sections: "Sequence[FormSection]", words: int, what: str
    ) -> str:
        share, least, most = _LENGTHS["long" if sections else options.length or "medium"]
        fields = sum(section.source == "field" for section in sections)
        wishes = ""
        if options.words is not None:
            wishes += f" Write at most {options.words} words in all, the most important first."
        if options.focus is not None:
            wishes += f" Write only what is about {options.focus}."
        held, keys = "", ""
        if sections:
            titles = (f'- "{section.title}": {holds_of(section)}' for section in sections)
            intro = 'Give each statement its "section"; none to a section that nothing was said of:'
            held, keys = "\n".join(("", intro, *titles, "")), '"section": "...", '
        return self._prompt.safe_substitute(
            input=what,
            most=min(max(words // share, least), most) + fields,
            wishes=wishes,
            sections=held,
            keys=keys,
        )

    def _drafts(
        self,
        system: str,
        lines: Sequence[str],
        dialogue: Dialogue,
        sections: "Sequence[FormSection]",
        warnings: list[Warning],
        on_text: Callable[[str], None] | None = None,
    ) -> list[Draft]:
        schema = answer_schema(sections)
        titles = [section.title for section in sections]
        bare = "\n".join(_NO_EXAMPLE if "..." in line else line for line in system.splitlines())
        for prompt in (system, bare):  # small models copy the example
            content, is_cut = self.chat.complete(prompt, "\n".join(lines), schema, on_text)
            drafts = drafts_of(content, len(dialogue.utterances), titles)
            if drafts or '"..."' not in content:
                break
        begin = drafts[0].text if drafts else content
        if is_refusal(begin) and not any(draft.lines for draft in drafts):
            raise Declined("the model declines to summarize this")
        if is_cut:
            limit = counted(self._max_tokens, "tokens")
            message = f"the answer was cut at {limit}: {counted(len(drafts), 'statements')} kept"
            if not drafts:
                raise DataError(f"{message} (?max_tokens=)")
            warnings.append(Warning("length", message))
        if not drafts and '"statements":[]' not in "".join(without_thoughts(content).split()):
            raise DataError("the model's answer holds no statement")
        KEEP.get()()
        return drafts


def holds_of(section: "FormSection") -> str:
    """What a section of a form holds, in words for a model; empty: no model is asked for it."""
    if section.source == "key_points":
        return ", ".join(section.labels)
    if section.source == "field":
        several = "each value a statement" if section.several else "one statement"
        return f"the {section.type} as it was said, nothing else; {several}"
    return _HOLDS.get(section.source, "")


def answer_schema(sections: "Sequence[FormSection]") -> dict[str, Any]:
    """The JSON schema of an answer: lines first, so that a model chooses before it writes."""
    text = {"type": "string"}
    cited = {"type": "array", "items": {"type": "integer"}, "maxItems": _MOST_CITED}
    properties: dict[str, Any] = {"lines": cited}
    if sections:
        properties["section"] = {"type": "string", "enum": [s.title for s in sections]}
        if any(section.source == "actions" for section in sections):
            properties |= {"owner": text, "deadline": text}
    return list_schema("statements", properties | {"text": text})


def list_schema(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of a list ``name`` of objects, each with these properties and no others."""
    items = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": items}},
        "required": [name],
        "additionalProperties": False,
    }


def numbered_lines(dialogue: Dialogue, numbers: "Sequence[int] | None" = None) -> Iterator[str]:
    """Utterances as one line each, ``[3] Ann (agent): ...``; numbers from 0, all by default."""
    for number in range(len(dialogue.utterances)) if numbers is None else numbers:
        utterance = dialogue.utterances[number]
        text = " ".join(utterance.text.split())
        if text:
            speaker, role = utterance.speaker, utterance.role
            is_named = speaker and role and role.casefold() != speaker.casefold()
            who = f"{speaker} ({role})" if is_named else speaker or role
            yield f"[{number + 1}] {f'{who}: ' if who else ''}{text}"


def windows_of(lines: Iterable[str], room: int) -> Iterator[list[str]]:
    """The lines in parts of at most ``room`` characters; a longer line in pieces of its number."""
    window: list[str] = []
    size = 0
    for line in lines:
        number, text = line[: line.find("]") + 2], line[line.find("]") + 2 :]
        step = room - len(number)
        for place in range(0, len(text), step):
            piece = number + text[place : place + step]
            if window and size + len(piece) >= room:
                yield window
                window, size = [], 0
            window.append(piece)
            size += len(piece) + 1
    if window:
        yield window


def _note(draft: Draft) -> str:
    numbers = " ".join(str(n + 1) for n in draft.lines)
    section = f"({draft.section}) " if draft.section else ""
    who = f" (owner: {draft.owner}; deadline: {draft.deadline})" if draft.owner else ""
    return f"[{numbers}] {section}{draft.text}{who}"


def _within(drafts: Sequence[Draft], words: int | None) -> Iterator[Draft]:
    """The first drafts that have so many words, whole ones."""
    left = words
    for draft in drafts:
        if left is not None:
            left -= len(draft.text.split())
            if left < 0:
                return
        yield draft


def open_openai(address: str) -> LanguageModelWriter:
    """``openai:URL#MODEL``, or ``openai:MODEL`` of api.openai.com; raises as `ChatModel`."""
    return _opened(address if "#" in address else f"https://api.openai.com/v1#{address}", "openai")


def open_ollama(model: str) -> LanguageModelWriter:
    """``ollama:MODEL`` of the Ollama of this machine, or of ``OLLAMA_HOST``."""
    host = os.environ.get("OLLAMA_HOST") or "127.0.0.1:11434"
    # Ollama cuts prompts silently at its own context, which no OpenAI-compatible call can set.
    model += "" if "context=" in model else f"{'&' if '?' in model else '?'}context=4096"
    return _opened(f"{host if '://' in host else f'http://{host}'}/v1#{model}", "ollama")


def open_llamacpp(port: str) -> LanguageModelWriter:
    """``llamacpp[:PORT]``, the model that a llama.cpp server of this machine has loaded."""
    number, _, options = port.partition("?")
    number, _, model = number.partition("#")
    name = f"{model or 'default'}?{options}".rstrip("?")
    return _opened(f"http://127.0.0.1:{number or 8080}/v1#{name}", "llamacpp")


def open_vllm(model: str) -> LanguageModelWriter:
    """``vllm:MODEL`` of a vLLM server of this machine on its usual port."""
    return _opened(f"http://127.0.0.1:8000/v1#{model}", "vllm")


def _opened(address: str, kind: str) -> LanguageModelWriter:
    chat = ChatModel(address, kind)
    config = chat.config
    return LanguageModelWriter(chat, config.prompt, config.at_once, config.max_tokens)
