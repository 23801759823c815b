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
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from dialogist.config import Config
from dialogist.errors import ConfigError, DataError, Declined, ModelError, UsageError, needs_extra
from dialogist.files import network_allowed
from dialogist.language.tokens import counted
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
_NO_COMPLETION = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_HOPELESS = {
    **dict.fromkeys((401, 403), f"the key is refused: set {ENDPOINT_KEY}"),
    404: "there is no such model or path",
}


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
        """The models that the server lists.

        Raises:
            ModelError: it cannot be reached.
        """
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
            DataError: there is no usable answer, the budget does not allow it, or nobody waits for
                it any more (`GIVEN_UP`).
            Declined: the model declines.
            ModelError: the server cannot be reached, or refuses the key or the model.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        sampling = [self.config.max_tokens, self.config.temperature, self.config.seed]
        asked = json.dumps([self.url, self.model, messages, schema, sampling], sort_keys=True)
        key = hashlib.sha256(asked.encode()).hexdigest()
        kept = self._cache.get(key)
        if kept is not None:
            self._count(0, 0, cached=True)
            if on_text is not None:
                on_text(kept)
            return kept, False
        _check_wanted()
        estimate = (len(system) + len(user)) // CHARACTERS_A_TOKEN
        spent = (0, 0)
        self._reserve(estimate)
        try:
            content, spent, is_cut = self._asked(messages, schema, on_text)
        finally:
            # At once: between two steps another thread would see the budget spent twice.
            self._book(spent[0] - estimate, spent[1] - self.config.max_tokens)
            self._count(*spent)
        if not is_cut:
            self._cache.put(key, content)
        return content, is_cut

    def _asked(
        self,
        messages: list[dict[str, str]],
        schema: Mapping[str, Any],
        on_text: Callable[[str], None] | None,
    ) -> tuple[str, tuple[int, int], bool]:
        """One request, or as many as it takes to find the form of answers that a server knows."""
        import openai

        begin = time.monotonic()
        while True:
            form = self._forms[0]
            try:
                return self._send(messages, schema, form, on_text)
            except openai.APIStatusError as error:
                status = error.status_code
                is_refused = status in (400, 422) or "response_format" in str(error.body)
                if is_refused and form:
                    with self._lock:
                        if self._forms[0] == form:
                            self._forms.pop(0)  # this server does not know it
                    continue
                if status in _HOPELESS:
                    reason = f"the endpoint answered with status {status}"
                    raise ModelError(f"{self.name}: {reason}: {_HOPELESS[status]}") from None
                tries = ""
                if status == 429 or status >= 500:
                    tries = f" ({counted(self.config.retries + 1, 'tries')})"
                raise DataError(f"the endpoint answered with status {status}{tries}") from None
            except openai.APITimeoutError:
                raise DataError(f"no whole answer within {self.config.timeout:g} s") from None
            except openai.APIConnectionError as error:
                if isinstance(error.__cause__, DataError):
                    raise error.__cause__ from None
                # A server that is gone ends the run; one that breaks off costs the dialogue.
                if type(error.__cause__).__name__ == "ConnectError":
                    message = f"{self.name}: cannot be reached: {error.__cause__}"
                    raise ModelError(message) from None
                seconds = time.monotonic() - begin
                raise DataError(f"the connection failed after {seconds:.0f} s") from None
            except (openai.OpenAIError, *_NO_COMPLETION):
                raise DataError("the endpoint's answer is no chat completion") from None

    def _send(
        self,
        messages: list[dict[str, str]],
        schema: Mapping[str, Any],
        form: str,
        on_text: Callable[[str], None] | None,
    ) -> tuple[str, tuple[int, int], bool]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "max_tokens": self.config.max_tokens,
            "temperature": self.config.temperature,
            "seed": self.config.seed,
        }
        if form == "json_schema":
            named = {"name": "answer", "schema": schema, "strict": True}
            request["response_format"] = {"type": form, "json_schema": named}
        elif form:
            kept = {"schema": schema} if form.endswith("schema") else {}  # of llama.cpp
            request["response_format"] = {"type": "json_object", **kept}
        if on_text is None:
            answer = self._client.chat.completions.create(**request)
            choice, usage = answer.choices[0], answer.usage
            content, refusal = choice.message.content, getattr(choice.message, "refusal", None)
            finish = choice.finish_reason
        else:
            content, refusal, finish, usage = "", None, None, None
            chunks = self._client.chat.completions.create(
                **request, stream=True, stream_options={"include_usage": True}
            )
            for chunk in chunks:
                usage = chunk.usage or usage
                for choice in chunk.choices[:1]:
                    finish = choice.finish_reason or finish
                    refusal = getattr(choice.delta, "refusal", None) or refusal
                    _check_wanted()
                    if choice.delta.content:
                        content += choice.delta.content
                        on_text(content)
        if refusal or finish == "content_filter":
            raise Declined(f"the model declines: {' '.join(str(refusal or finish).split())[:200]}")
        if not isinstance(content, str) or not content.strip():
            raise DataError("the endpoint's answer holds no text")
        size = sum(len(m["content"]) for m in messages)
        tokens = (
            getattr(usage, "prompt_tokens", None) or size // CHARACTERS_A_TOKEN,
            getattr(usage, "completion_tokens", None) or len(content) // CHARACTERS_A_TOKEN,
        )
        return content, tokens, finish == "length"

    def _price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.config.price_in + tokens_out * self.config.price_out) / 1e6

    def _reserve(self, estimate: int) -> None:
        """Count what a request may cost, until the server says what it did.

        Raises:
            DataError: it would go beyond the budget.
        """
        config, most = self.config, estimate + self.config.max_tokens
        cost = self._price(estimate, config.max_tokens)
        with self._lock:
            if config.budget is not None and self._tokens + most > config.budget:
                raise DataError(
                    f"the budget of {counted(config.budget, 'tokens')} does not allow it: "
                    f"{self._tokens:,} are spent"
                )
            if config.budget_cost is not None and self._cost + cost > config.budget_cost:
                raise DataError(
                    f"the budget of {config.budget_cost:g} does not allow it: "
                    f"{self._cost:.4g} is spent"
                )
            self._tokens += most
            self._cost += cost

    def _book(self, tokens_in: int, tokens_out: int) -> None:
        with self._lock:
            self._tokens += tokens_in + tokens_out
            self._cost += self._price(tokens_in, tokens_out)

    def _count(self, tokens_in: int, tokens_out: int, cached: bool = False) -> None:
        """Add to what was sent for the dialogue at hand."""
        sent = SENT.get()
        if sent is None:
            return
        before = sent.get(self.host) or Sent(self.host, self.masks)
        cost = self._price(tokens_in, tokens_out) if self._price(1, 1) else None
        sent[self.host] = replace(
            before,
            requests=before.requests + (not cached),
            cached=before.cached + cached,
            tokens_in=before.tokens_in + tokens_in,
            tokens_out=before.tokens_out + tokens_out,
            cost=before.cost if cost is None else (before.cost or 0.0) + cost,
        )


def _check_wanted() -> None:
    if reason := GIVEN_UP.get()():
        raise DataError(reason)


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
                self._database.execute(change, (key, content))


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
            deadline = time.monotonic() + seconds
            if not has_key:  # the client insists on one
                request.headers.pop("Authorization", None)
            response = super().handle_request(request)
            assert isinstance(response.stream, httpx.SyncByteStream)
            response.stream = Bounded(response.stream, deadline)
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
