"""A language model behind an OpenAI-compatible endpoint: asked, bounded, counted, cached.

The transport is the official ``openai`` client (its tries, ``Retry-After`` and streams). The key
comes from the environment or the keyring and goes nowhere but to the address that was named:
redirects are refused, and so is a key over plain HTTP to another machine. An answer is data of a
stranger: its size and its time are bounded here, and a wrong one costs its own dialogue alone.
"""

import hashlib
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from dialogist.config import Config
from dialogist.errors import ConfigError, DataError, Declined, ModelError, UsageError, needs_extra
from dialogist.files import network_allowed
from dialogist.language.tokens import counted
from dialogist.plain_text import printable
from dialogist.privacy.masking import masked_line
from dialogist.records import Sent
from dialogist.writers import GIVEN_UP, SENT

if TYPE_CHECKING:
    import httpx2 as httpx

ENDPOINT_KEY = "DIALOGIST_OPENAI_KEY"
"""The environment variable with the key; for api.openai.com ``OPENAI_API_KEY`` will do, too."""

CHARACTERS_A_TOKEN = 3
"""For an estimate that is rather too high."""

_LARGEST_ANSWER = 1 << 20  # bytes
_USUAL_CONTEXT = 8192  # tokens, where a server does not say
_NEW = "max_completion_tokens"  # as some servers call max_tokens
_NO_COMPLETION = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_HOPELESS = {
    **dict.fromkeys((401, 403), f"the key is refused: set {ENDPOINT_KEY}"),
    404: "there is no such model or path",
}


_TRIES: ContextVar[int] = ContextVar("_TRIES", default=0)  # requests of this thread
KEEP: ContextVar[Callable[[], object]] = ContextVar("KEEP", default=str)
"""Puts this thread's last answer into the cache; called by who could use it."""


_Answer: TypeAlias = tuple[str, Any, Any, tuple[int, int]]  # text, its end, refusal, tokens


class NotAsked(DataError):
    """The budget does not allow a request, or nobody waits for its answer any more."""


class ChatConfig(Config):
    """How an endpoint is asked.

    ``timeout``: seconds for one answer, from its first byte to its last. ``retries``: further
    tries after a failure that may pass, each waiting twice as long or as the server asks.
    ``at_once``: requests at a time. ``context``: tokens that the model reads and writes at most;
    by default what the server says, else 8,192. ``max_tokens``: of one answer. ``temperature``,
    ``seed``: of its sampling. ``price_in``, ``price_out``: of a million tokens, in any currency.
    ``budget``: tokens of all requests and answers of a run, ``budget_cost``: their price; what
    would go beyond is not asked. ``prompt``: a file that takes the place of the package's own.
    ``cache``: ``on``, ``off`` or a folder of answers. ``send_unmasked``: personal data are not
    masked before they are sent to another machine.
    """

    timeout: float = Field(120.0, gt=0, le=3600)
    retries: int = Field(3, ge=0, le=10)
    at_once: int = Field(4, ge=1, le=256)
    context: int | None = Field(None, ge=512)
    max_tokens: int = Field(1500, ge=1, le=32768)
    temperature: float = Field(0.0, ge=0, le=2)
    seed: int = Field(0, ge=0)
    price_in: float = Field(0.0, ge=0)
    price_out: float = Field(0.0, ge=0)
    budget: int | None = Field(None, ge=1)
    budget_cost: float | None = Field(None, gt=0)
    prompt: str | None = None
    cache: str = "on"
    send_unmasked: bool = False


class ChatModel:
    """A language model that answers messages; many threads may ask it."""

    def __init__(self, address: str, kind: str = "openai") -> None:
        """``address``: ``URL#MODEL?key=value``.

        Raises:
            ConfigError: the address is wrong; says how it is written.
            MissingExtraError: the ``openai`` client is not installed.
            UsageError: the network is not allowed, or the key would travel in the clear.
        """
        self.url, self.model, self.config = parsed_address(address, kind)
        self.name = f"{kind}:{self.url}#{self.model}"
        parts = urlsplit(self.url)
        self.host = parts.netloc
        self.is_local = parts.hostname in _LOCAL_HOSTS
        self.masks = not (self.is_local or self.config.send_unmasked)
        if not (self.is_local or network_allowed()):
            raise UsageError(f"{self.name}: sends dialogues to {self.host}: say --allow-network")
        with needs_extra("a language model", "endpoint"):
            import httpx2 as httpx
            import openai
        key = key_for(self.url)
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=self.url,
            timeout=self.config.timeout,
            max_retries=self.config.retries,
            http_client=httpx.Client(
                transport=_bounded_transport(self.config.timeout, self.config.at_once, bool(key)),
                timeout=self.config.timeout,
                follow_redirects=False,
                trust_env=False,
            ),
        )
        weakref.finalize(self, self._client.close)
        self._cache = AnswerCache(self.config.cache)
        self._lock = threading.Lock()
        self._tokens, self._cost = 0, 0.0
        self._forms = ["json_schema", "json_object with schema", "json_object", ""]
        self._sampling = self.config.model_dump(include={"max_tokens", "temperature", "seed"})

    @cached_property
    def context(self) -> int:
        """The tokens that the model reads and writes at most."""
        return self.config.context or self._told_context() or _USUAL_CONTEXT

    def _told_context(self) -> int | None:
        """What the server says of itself: vLLM and llama.cpp in their list of models."""
        try:
            models = self._listed()
        except ModelError:  # asked out of interest: what matters fails again when asked to write
            return None
        for name, facts in models.items():
            meta = facts.get("meta")
            tokens = facts.get("max_model_len") or (isinstance(meta, dict) and meta.get("n_ctx"))
            if type(tokens) is int and tokens >= 512 and self.model in (name, ""):
                return tokens
        return None

    def models(self) -> list[str]:
        """The models that the server lists; a ModelError if it cannot be reached."""
        return list(self._listed())

    def _listed(self) -> dict[str, dict[str, Any]]:
        """What the server says of its models; Ollama without any says null."""
        try:
            models = self._client.with_options(timeout=5, max_retries=0).models.list().data or ()
            return {str(model.id): model.model_extra or {} for model in models}
        except Exception as error:
            raise ModelError(f"{self.host}: {type(error).__name__}") from None

    def complete(
        self,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        on_text: Callable[[str], None] | None = None,
    ) -> tuple[str, bool]:
        """The answer, and whether it was cut at ``max_tokens``; ``on_text`` hears it as it comes.

        Raises:
            DataError: there is no usable answer; `NotAsked`, it was not wanted.
            Declined: the model declines.
            ModelError: the server cannot be reached, or refuses the key or the model.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        sampling = [self.config.max_tokens, self.config.temperature, self.config.seed]
        asked = json.dumps([self.url, self.model, messages, schema, sampling], sort_keys=True)
        key = hashlib.sha256(asked.encode()).hexdigest()
        kept = self._cache.get(key)
        if kept is not None:
            KEEP.set(str)
            self._count(0, 0, 0, cached=1)
            if on_text is not None:
                on_text(kept)
            return kept, False
        _check_wanted()
        estimate = (len(system) + len(user)) // CHARACTERS_A_TOKEN
        spent = (0, 0)
        self._reserve(estimate)
        _TRIES.set(0)
        try:
            send = partial(self._send, messages, schema, on_text)
            content, finish, refusal, spent = self._asked(send)
        finally:
            # At once: between two steps another thread would see the budget spent twice.
            more = spent[0] - estimate, spent[1] - self.config.max_tokens
            with self._lock:
                self._tokens += sum(more)
                self._cost += self._price(*more)
            self._count(*spent, _TRIES.get())
        if refusal or finish == "content_filter":
            raise Declined(f"the model declines: {printable(str(refusal or finish))[:200]}")
        is_cut = finish == "length"
        if not content.strip():
            cut = f": cut at {self.config.max_tokens:,} tokens (?max_tokens=)" * is_cut
            raise DataError(f"the endpoint's answer holds no text{cut}")
        KEEP.set(str if is_cut else partial(self._cache.put, key, content))
        return content, is_cut

    def _asked(self, send: Callable[[str, dict[str, Any]], _Answer]) -> _Answer:
        """One request, or as many as it takes to find the form of answers, and the settings, that
        a server knows; a form that it refuses may be well, and the dialogue too long."""
        import httpx2 as httpx
        import openai

        begin = time.monotonic()
        refused = set[str]()
        while True:
            form = next(form for form in self._forms if form not in refused)
            sampling, before = self._sampling, _TRIES.get()
            try:
                answer = send(form, sampling)
                if refused:
                    self._forms = [form for form in self._forms if form not in refused]
                return answer
            except openai.APIStatusError as error:
                status, told = error.status_code, str(error.body).lower()
                sizes = "context" in told and any(s in told for s in ("length", "size", "window"))
                is_long = sizes or "too long" in told
                if not is_long and (status in (400, 422) or "response_format" in told):
                    wished = {"max_tokens", _NEW} | self.config.model_fields_set
                    kept = {k: v for k, v in sampling.items() if k in wished or k not in told}
                    if _NEW in told and "max_tokens" in kept:
                        kept[_NEW] = kept.pop("max_tokens")
                    if kept != sampling:
                        self._sampling = kept
                        continue
                    if form:
                        refused.add(form)
                        continue
                message = f"the endpoint answered with status {status}"
                if status in _HOPELESS:
                    raise ModelError(f"{self.name}: {message}: {_HOPELESS[status]}") from None
                if status == 429 or status >= 500:
                    message += f" ({counted(_TRIES.get() - before, 'tries')})"
                message += " (?context=)" * is_long + _told(error.body)
                raise DataError(message) from None
            except (openai.APITimeoutError, httpx.TimeoutException):
                seconds = f"{self.config.timeout:g} s"
                raise DataError(f"no whole answer within {seconds} (?timeout=)") from None
            except (openai.APIConnectionError, httpx.TransportError) as error:
                if isinstance(error.__cause__, DataError):
                    raise error.__cause__ from None
                # A server that is gone ends the run; one that breaks off costs the dialogue.
                if type(error.__cause__).__name__ == "ConnectError":
                    raise ModelError(f"{self.name}: cannot be reached: {error.__cause__}") from None
                seconds = f"{time.monotonic() - begin:.0f} s"
                raise DataError(f"the connection failed after {seconds}") from None
            except (openai.OpenAIError, *_NO_COMPLETION) as error:
                told = _told(getattr(error, "body", None))
                raise DataError(f"the endpoint's answer is no chat completion{told}") from None

    def _send(
        self,
        messages: list[dict[str, str]],
        schema: Mapping[str, Any],
        on_text: Callable[[str], None] | None,
        form: str,
        sampling: dict[str, Any],
    ) -> _Answer:
        import openai

        request: dict[str, Any] = {"model": self.model, "messages": messages, **sampling}
        if form == "json_schema":
            named = {"name": "answer", "schema": schema, "strict": True}
            request["response_format"] = {"type": form, "json_schema": named}
        elif form:
            kept = {"schema": schema} if form.endswith("schema") else {}  # of llama.cpp
            request["response_format"] = {"type": "json_object", **kept}
        if on_text is not None:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        reply: Any = self._client.chat.completions.create(**request)
        is_stream = isinstance(reply, openai.Stream)
        if is_stream and "json" in reply.response.headers.get("content-type", ""):
            whole = json.loads(reply.response.read())  # of a server that does not stream
            reply, is_stream = openai.types.chat.ChatCompletion.model_construct(**whole), False
        content, refusal, finish, usage = "", None, None, None
        for part in reply if is_stream else [reply]:
            if getattr(part, "error", None):
                raise DataError(f"the endpoint answered with an error{_told(part.error)}")
            usage = part.usage or usage
            for choice in part.choices[:1]:
                said = choice.delta if is_stream else choice.message
                finish = choice.finish_reason or finish
                refusal = getattr(said, "refusal", None) or refusal
                text = said.content or ""
                if isinstance(text, list):
                    text = "".join(str(piece.get("text") or "") for piece in text)
                content += text
                if on_text is not None and text:
                    _check_wanted()
                    on_text(content)
        size = sum(len(m["content"]) for m in messages)
        tokens = (
            getattr(usage, "prompt_tokens", None) or size // CHARACTERS_A_TOKEN,
            getattr(usage, "completion_tokens", None) or len(content) // CHARACTERS_A_TOKEN,
        )
        return content, finish, refusal, tokens

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.config.price_in + tokens_out * self.config.price_out) / 1e6

    def _reserve(self, estimate: int) -> None:
        """Count what a request may cost, until the server says what it did; or raise NotAsked."""
        config, most = self.config, estimate + self.config.max_tokens
        cost = self._price(estimate, config.max_tokens)
        with self._lock:
            if config.budget is not None and self._tokens + most > config.budget:
                raise NotAsked(
                    f"the budget of {counted(config.budget, 'tokens')} does not allow it: "
                    f"{self._tokens:,} are spent"
                )
            if config.budget_cost is not None and self._cost + cost > config.budget_cost:
                raise NotAsked(
                    f"the budget of {config.budget_cost:g} does not allow it: "
                    f"{self._cost:.4g} is spent"
                )
            self._tokens += most
            self._cost += cost

    def _count(self, tokens_in: int, tokens_out: int, requests: int, cached: int = 0) -> None:
        """Add to what was sent for the dialogue at hand."""
        sent = SENT.get()
        if sent is None:
            return
        before = sent.get(self.host) or Sent(self.host, self.masks)
        cost = self._price(tokens_in, tokens_out) if self._price(1, 1) else None
        sent[self.host] = replace(
            before,
            requests=before.requests + requests,
            cached=before.cached + cached,
            tokens_in=before.tokens_in + tokens_in,
            tokens_out=before.tokens_out + tokens_out,
            cost=before.cost if cost is None else (before.cost or 0.0) + cost,
        )


def _check_wanted() -> None:
    if reason := GIVEN_UP.get()():
        raise NotAsked(reason)


def _told(body: Any) -> str:
    """The first line of a server's own words on an error, if it is no page, behind a colon."""
    words = body.get("message") or body.get("detail") if isinstance(body, Mapping) else body
    line = words.strip().partition("\n")[0][:1000] if isinstance(words, str) else ""
    return f": {masked_line(printable(line))[:100]}" if line and line[0] != "<" else ""


class AnswerCache:
    """A file of answers that many threads and processes share; only its owner may read it.

    An answer may hold personal data as the request did: masked, where that was.
    """

    def __init__(self, place: str) -> None:
        """``place``: ``on`` (in the user's folder), ``off``, or a folder.

        Raises:
            UsageError: it cannot be made or is no such file.
        """
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        if place == "off":
            return
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        path = (Path(home) / "dialogist" if place == "on" else Path(place)) / "answers.db"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._database = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing
            self._database.execute("CREATE TABLE IF NOT EXISTS answers (key PRIMARY KEY, content)")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{path}: no cache of answers: {error} (cache=off)") from None

    def get(self, key: str) -> str | None:
        """The answer to a request, if there is one."""
        if self._database is None:
            return None
        query = "SELECT content FROM answers WHERE key = ?"
        with self._lock:
            row = self._database.execute(query, (key,)).fetchone()
        return str(row[0]) if row else None

    def put(self, key: str, content: str) -> None:
        """Keep an answer."""
        if self._database is not None:
            change = "INSERT OR REPLACE INTO answers VALUES (?, ?)"
            with self._lock:
                self._database.execute(change, (key, content.encode("utf-8", "replace").decode()))


def parsed_address(address: str, kind: str = "openai") -> tuple[str, str, ChatConfig]:
    """``URL#MODEL?key=value`` in its parts.

    Raises:
        ConfigError: it is wrong; says how it is written.
    """
    url, _, rest = address.partition("#")
    model, _, options = rest.partition("?")
    parts = urlsplit(url)
    if not model or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"{kind}:{address}: write an endpoint as openai:URL#MODEL "
            "(openai:http://127.0.0.1:8080/v1#qwen2.5)"
        )
    if parts.username or parts.password or parts.query:
        raise ConfigError(f"{kind}:{parts.hostname}: no key in an address: set {ENDPOINT_KEY}")
    given = dict(parse_qsl(options, keep_blank_values=True))
    return url.rstrip("/"), model, ChatConfig.parse(given, f"{kind}:{url}#{model}")


def key_for(url: str) -> str:
    """The key for an address: of the environment, else of the keyring (service ``dialogist``).

    Raises:
        UsageError: it would be sent in the clear.
    """
    parts = urlsplit(url)
    key = os.environ.get(ENDPOINT_KEY, "")
    if not key and parts.scheme == "https" and parts.hostname == "api.openai.com":
        key = os.environ.get("OPENAI_API_KEY", "")
    is_local = parts.hostname in _LOCAL_HOSTS
    if not key and not is_local:
        try:
            import keyring  # type: ignore[import-not-found,unused-ignore]

            key = keyring.get_password("dialogist", parts.netloc) or ""
        except Exception:  # not installed, or a machine without one
            key = ""
    if key and parts.scheme == "http" and not is_local:
        raise UsageError(f"{url}: the key would be sent in the clear: use https")
    return key.strip()


def _bounded_transport(seconds: float, at_once: int, has_key: bool) -> "httpx.BaseTransport":
    """A transport whose answers end at a size and at a time."""
    import httpx2 as httpx

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
            self._stream, self._deadline = stream, deadline

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in self._stream:
                size += len(part)
                if size > _LARGEST_ANSWER:
                    raise DataError("the endpoint's answer is larger than 1 MB")
                if time.monotonic() > self._deadline:
                    raise httpx.ReadTimeout("the whole answer took too long")
                yield part

        def close(self) -> None:
            self._stream.close()

    class Transport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            _check_wanted()  # before each try
            _TRIES.set(_TRIES.get() + 1)
            deadline = time.monotonic() + seconds
            if not has_key:  # the client insists on one
                request.headers.pop("Authorization", None)
            response = super().handle_request(request)
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = Bounded(response.stream, deadline)
            if response.status_code == 429 and b"insufficient_quota" in response.read():
                response.headers["x-should-retry"] = "false"  # waiting does not help
            return response

    limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
    return Transport(limits=limits, trust_env=False)


def prompt_text(file: str | None, bundled: str) -> str:
    """The text of a prompt: of a person's file, else of the package's own by its name.

    Raises:
        UsageError: the file cannot be read.
    """
    path = Path(file) if file else Path(__file__).parents[1] / "assets" / "prompts" / bundled
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    return "\n".join(line for line in lines if not line.startswith("#")).strip()
