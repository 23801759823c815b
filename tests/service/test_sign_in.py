"""Signing in without a key: by the header of a reverse proxy, and by OpenID Connect."""

import hashlib
import time
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from tests.service.conftest import listening, serving
from tests.service.receiver import receiving
from tests.service.test_api import CALL

from dialogist.errors import ConfigError
from dialogist.service.keys import add_key, revoke_key
from dialogist.service.settings import Settings

KEY, OTHER = (RSAKey.generate_key(2048, {"kid": "1"}) for _ in range(2))
PROXY = {"header": "X-Forwarded-User", "from": ["127.0.0.1", "10.1.0.0/16"]}
ADDRESS = "http://localhost:8765"


class Provider:
    """An identity provider: its description, its keys, and ID tokens for one person."""

    def __init__(self, issuer):
        self.issuer = issuer
        self.changed, self.key, self.algorithm, self.asked = {}, KEY, "RS256", {}
        self.described = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        }

    def answer(self, got):
        if got.asked == "GET /.well-known/openid-configuration":
            return 200, {}, self.described
        if got.asked == "GET /keys":
            return 200, {}, {"keys": [KEY.as_dict(private=False)]}
        form = dict(parse_qsl(got.body.decode()))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = urlsafe_b64encode(digest).rstrip(b"=").decode()
        given = form["code"], challenge, form["client_secret"]
        is_right = given == ("good", self.asked["code_challenge"], "hush")
        return (200, {}, {"id_token": self.token()}) if is_right else (400, {}, {})

    def token(self):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "notes", "sub": "1", "iat": now, "exp": now + 300}
        claims |= {"nonce": self.asked["nonce"], "email": "Ann@example.com", "email_verified": True}
        claims |= self.changed
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": "1"}
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


@pytest.fixture
def provider():
    with receiving(lambda got: provider.answer(got)) as receiver:
        provider = Provider(receiver.url)
        yield provider


def oidc(provider, tmp_path, **more):
    (tmp_path / "secret").write_text("hush\n")
    given = {"issuer": provider.issuer, "client_id": "notes"}
    given |= {"client_secret_file": str(tmp_path / "secret"), "email_domains": ["example.com"]}
    return {**given, **more}


def signed_in(provider, engine, settings, code="good", state=None):
    """What a browser gets that comes back from the provider, and then of the first page."""
    own = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    with (
        serving(engine, oidc=settings, public_url=ADDRESS) as service,
        service.blocking("", **own) as client,
    ):
        start = client.get("/login/start")
        if start.status_code != 303:
            return start, None
        provider.asked = dict(parse_qsl(urlsplit(start.headers["Location"]).query))
        query = {"code": code, "state": state or provider.asked["state"]}
        back = client.get("/login/callback", params=query)
        home = client.get("/")
        made = client.post("/v1/summaries", json={**CALL, "review": True})
        if made.status_code == 200:
            path = "/v1" + made.headers["Location"]
            client.post(f"{path}/decision", json={"verdict": "approved"})
            return back, home, client.get(path).json()["reviewer"]
        return back, home


def test_a_person_signs_in_and_approves_by_name(provider, engine, tmp_path):
    back, home, reviewer = signed_in(provider, engine, oidc(provider, tmp_path))
    assert (back.status_code, back.headers["Location"], home.status_code) == (303, "/", 200)
    assert reviewer == "ann@example.com"
    asked = provider.asked
    assert asked["redirect_uri"] == f"{ADDRESS}/login/callback"
    assert asked["code_challenge_method"] == "S256"
    revoke_key(engine, "ann@example.com")
    back, home = signed_in(provider, engine, oidc(provider, tmp_path))
    assert (back.status_code, home.status_code) == (403, 303)


UNFIT = (
    {"iss": "https://other.example"},
    {"aud": "other"},
    {"aud": ["notes", "other"], "azp": "other"},
    {"nonce": "other"},
    {"nonce": None},
    {"exp": 1_700_000_000},
    {"exp": None},
    {"email": "ann@other.example"},
    {"email": "ann@example.com.other.example"},
    {"email": None},
    {"email_verified": False},
    {"email_verified": None},
)
FORGED = {"key": OTHER}, {"key": OctKey.generate_key(256), "algorithm": "HS256"}


@pytest.mark.parametrize("given", [*({"changed": claims} for claims in UNFIT), *FORGED])
def test_an_id_token_that_does_not_fit_is_refused(provider, engine, tmp_path, given):
    vars(provider).update(given)
    back, home = signed_in(provider, engine, oidc(provider, tmp_path))
    assert (back.status_code, home.status_code) == (403, 303)


@pytest.mark.parametrize(("code", "state", "status"), [("bad", None, 502), ("good", "x", 403)])
def test_a_wrong_code_or_state_is_refused(provider, engine, tmp_path, code, state, status):
    back, home = signed_in(provider, engine, oidc(provider, tmp_path), code, state)
    assert (back.status_code, home.status_code) == (status, 303)


def test_a_description_of_another_issuer_is_refused(provider, engine, tmp_path):
    provider.described["issuer"] = "https://other.example"
    start, _ = signed_in(provider, engine, oidc(provider, tmp_path))
    assert start.status_code == 502


def test_strangers_cannot_make_the_service_ask_the_provider(provider, engine, tmp_path):
    settings = {"oidc": oidc(provider, tmp_path), "public_url": ADDRESS}
    with serving(engine, **settings) as service, service.blocking("") as client:
        statuses = {client.get("/login/start").status_code for _ in range(5)}
        provider.described = {}
        assert statuses | {client.get("/login/start").status_code} == {303}


@pytest.mark.parametrize(("groups", "status"), [(["support", "x"], 303), (["x"], 403), (None, 403)])
def test_a_claim_says_who_may_come_in(provider, engine, tmp_path, groups, status):
    provider.changed = {"groups": groups, "email_verified": None}
    settings = oidc(provider, tmp_path, email_domains=[], claims={"groups": "support"})
    assert signed_in(provider, engine, settings)[0].status_code == status


def test_settings_of_signing_in_are_checked(provider, tmp_path):
    for given in ({"email_domains": []}, {"issuer": "http://id.example"}, {"scopes": ["all"]}):
        with pytest.raises(ConfigError):
            Settings.parse({"oidc": oidc(provider, tmp_path, **given), "public_url": ADDRESS})
    with pytest.raises(ConfigError, match="public_url"):
        Settings.parse({"oidc": oidc(provider, tmp_path)})
    with pytest.raises(ConfigError):
        Settings.parse({"sign_in": {"header": "X-User", "from": ["10.1.0.1/8"]}})


@contextmanager
def at_a_port(engine, **settings):
    with listening(engine, **settings) as port, httpx2.Client() as client:
        client.base_url = f"http://127.0.0.1:{port}"
        yield client


@pytest.mark.parametrize(
    ("addresses", "headers", "status"),
    [
        (["127.0.0.1"], [("X-Forwarded-User", "ann")], 200),
        (["127.0.0.1"], [("X-Forwarded-User", "ann"), ("X-Forwarded-For", "8.8.8.8")], 200),
        (["127.0.0.1"], [("X-Forwarded-User", "ann"), ("X-Forwarded-User", "bo")], 401),
        (["127.0.0.1"], [], 401),
        (["10.1.0.0/16"], [("X-Forwarded-User", "ann")], 401),
        (["10.1.0.0/16"], [("X-Forwarded-User", "ann"), ("X-Forwarded-For", "10.1.0.1")], 401),
    ],
)
def test_a_proxy_names_people_and_nobody_else_does(engine, addresses, headers, status):
    with at_a_port(engine, sign_in={**PROXY, "from": addresses}) as client:
        assert client.get("/v1/forms", headers=headers).status_code == status


def test_who_comes_by_a_proxy_has_the_scopes_that_are_set(engine):
    settings = {**PROXY, "scopes": ["summaries"]}
    ann = {"X-Forwarded-User": "ann", "Sec-Fetch-Site": "same-origin"}
    with at_a_port(engine, sign_in=settings) as client:
        assert client.post("/v1/summaries", json=CALL, headers=ann).status_code == 200
        assert client.get("/v1/reviews", headers=ann).status_code == 403
        other = {**ann, "Sec-Fetch-Site": "cross-site"}
        assert client.post("/v1/summaries", json=CALL, headers=other).status_code == 403


def test_nobody_is_taken_for_a_key_of_the_same_name(engine):
    add_key(engine, "desk")
    with at_a_port(engine, sign_in=PROXY) as client:
        reply = client.get("/v1/forms", headers={"X-Forwarded-User": "desk"})
    assert reply.status_code == 403
