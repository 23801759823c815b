"""Signing in at a team's identity provider: OpenID Connect, authorization code with PKCE.

What belongs to one attempt (state, nonce, the verifier of PKCE) lies in a cookie of the browser
that began it, so any process can end it. Only claims of an ID token are believed whose signature,
issuer, audience, time and nonce fit.
"""

import hashlib
import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
from anyio import to_thread
from fastapi import APIRouter
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from dialogist.service import guards, page
from dialogist.service.problems import Problem
from dialogist.service.settings import OidcSettings

router = APIRouter(include_in_schema=False)

_COOKIE = "dialogist_sign_in"
_BACK = "/login/callback"
_TIME = 600  # seconds to sign in
_KNOWN = 600.0  # seconds for which the provider's description is good
_LEEWAY = 60  # seconds that clocks may differ
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]


def _settings(request: Request) -> OidcSettings:
    settings = guards.service_of(request).settings.oidc
    if settings is None:
        raise Problem("not_found", "oidc is not set")
    return settings


@router.get("/login/start")
async def start_sign_in(request: Request) -> Response:
    """Send the browser to the provider."""
    settings, public = _settings(request), guards.service_of(request).settings.public_url
    async with _client() as client:
        provider = await _provider(request, client, settings)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": public.rstrip("/") + _BACK,
        "scope": "openid email",
        "state": state,
        "nonce": nonce,
        "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    joined = "&" if urlsplit(provider["authorization_endpoint"]).query else "?"
    reply = RedirectResponse(f"{provider['authorization_endpoint']}{joined}{urlencode(query)}", 303)
    reply.set_cookie(
        _COOKIE,
        f"{state}.{nonce}.{verifier}",
        max_age=_TIME,
        path="/login",
        secure=public.startswith("https:"),
        httponly=True,
        samesite="lax",
    )
    return reply


@router.get(_BACK)
async def end_sign_in(request: Request) -> Response:
    """Begin a session of the person whom the provider names."""
    settings, service = _settings(request), guards.service_of(request)
    state, nonce, verifier, *_ = *request.cookies.get(_COOKIE, "").split("."), "", ""
    given = request.query_params.get("state", "")
    if not verifier or not hmac.compare_digest(state.encode(), given.encode()):
        raise Problem("sign_in_failed", "begin again at /login, with the same browser")
    code = request.query_params.get("code", "")
    if not code:
        raise Problem("sign_in_failed", "the identity provider refused it")
    async with _client() as client:
        provider = await _provider(request, client, settings)
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": service.settings.public_url.rstrip("/") + _BACK,
            "client_id": settings.client_id,
            "code_verifier": verifier,
        }
        if settings.client_secret_file:
            asked["client_secret"] = await to_thread.run_sync(settings.client_secret)
        answer = await _json(client, "POST", provider["token_endpoint"], asked)
        keys = await _json(client, "GET", provider["jwks_uri"])
    email = signed_in_person(settings, str(answer.get("id_token", "")), keys, nonce)
    key = await service.stored(lambda _: service.keys.person(email, settings.scopes))
    reply = await page.begin_session(request, key)
    reply.delete_cookie(_COOKIE, path="/login")
    return reply


def signed_in_person(
    settings: OidcSettings, token: str, keys: Mapping[str, Any], nonce: str
) -> str:
    """The e-mail address of an ID token, once all of it was checked against the provider's keys.

    Raises:
        Problem: something does not fit, or the person may not come in.
    """
    registry = jwt.JWTClaimsRegistry(
        leeway=_LEEWAY,
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.client_id},
        nonce={"essential": True, "value": nonce},
        exp={"essential": True},
        iat={"essential": True},
    )
    try:
        decoded = jwt.decode(token, KeySet.import_key_set(dict(keys)), algorithms=_ALGORITHMS)  # type: ignore[arg-type]
        registry.validate(decoded.claims)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        detail = f"the ID token is not valid ({type(error).__name__})"
        raise Problem("sign_in_failed", detail) from None
    claims = decoded.claims
    if claims.get("azp", settings.client_id) != settings.client_id:
        raise Problem("sign_in_failed", "the ID token is for another program")
    email = str(claims.get("email", "")).lower()
    is_verified = claims.get("email_verified", bool(settings.claims)) is True
    if "@" not in email or not is_verified:
        raise Problem("sign_in_failed", "the identity provider gives no verified e-mail address")
    is_ours = not settings.email_domains or email.rpartition("@")[2] in settings.email_domains
    has_claims = all(
        value in (claim if isinstance(claim := claims.get(name), list) else (claim,))
        for name, value in settings.claims.items()
    )
    if not is_ours or not has_claims:
        raise Problem("sign_in_failed", "this account may not use the service")
    return email


def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=10, follow_redirects=False)


async def _provider(
    request: Request, client: httpx2.AsyncClient, settings: OidcSettings
) -> dict[str, Any]:
    """The discovery document; it must be of the issuer, and name addresses as safe as its own.

    Anybody can begin to sign in, so it is asked for once in a while only.
    """
    known: tuple[float, dict[str, Any]] | None = getattr(request.app.state, "provider", None)
    if known is not None and time.monotonic() - known[0] < _KNOWN:
        return known[1]
    address = settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
    provider = await _json(client, "GET", address)
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    scheme = urlsplit(settings.issuer).scheme
    is_safe = all(urlsplit(str(provider.get(name))).scheme in ("https", scheme) for name in names)
    if provider.get("issuer") != settings.issuer or not is_safe:
        raise Problem("provider_unavailable", "its description is of another issuer, or not safe")
    request.app.state.provider = time.monotonic(), provider
    return provider


async def _json(
    client: httpx2.AsyncClient, method: str, address: str, form: Mapping[str, str] | None = None
) -> dict[str, Any]:
    try:
        answer = await client.request(method, address, data=form)
        values = answer.raise_for_status().json()
    except (httpx2.HTTPError, ValueError):
        raise Problem("provider_unavailable", "try again later", 10) from None
    if not isinstance(values, dict):
        raise Problem("provider_unavailable", "its answer is no object")
    return values
