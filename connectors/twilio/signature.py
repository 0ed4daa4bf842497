"""Is this upgrade request from Twilio? Its signature, checked over every form that the signed URL may have had.

Source: Twilio's "Security" page and `request_validator.py` of its Python library: base64(HMAC-SHA1(auth token, URL)),
for web hooks followed by each form field's name and value, sorted; HMAC-SHA256 with a shared key where the header
`X-Twilio-Webhooks-Signature-Settings` says so. A stream's URL has the scheme `wss` and no fields.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from connectors.twilio.settings import TwilioSettings

Algorithm = Literal["HMAC_SHA1", "HMAC_SHA256"]
_DIGESTS = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}

SIGNATURE = "X-Twilio-Signature"
SIGNATURE_SETTINGS = "X-Twilio-Webhooks-Signature-Settings"


def signature(
    secret: str, url: str, fields: Mapping[str, str] | None = None, algorithm: Algorithm = "HMAC_SHA1"
) -> str:
    """The signature that Twilio puts over a request to `url` with these form `fields`."""
    signed = url + "".join(name + value for name, value in sorted((fields or {}).items()))
    return base64.b64encode(hmac.digest(secret.encode(), signed.encode(), _DIGESTS[algorithm])).decode()


def upgrade_refusal(path: str, headers: Mapping[str, str], settings: TwilioSettings) -> str | None:
    """Why the upgrade request for `path` is refused; None if it may pass. `headers` finds names in any case. Without
    `auth_token` or `shared_key` in the settings everything may pass: the token at `start` is then the only check."""
    if settings.auth_token is None and settings.shared_key is None:
        return None
    try:
        given, said, host = headers.get(SIGNATURE), headers.get(SIGNATURE_SETTINGS), headers.get("Host", "")
    except LookupError:
        return "the request has one of its headers twice"
    if not given:
        return f"the request has no {SIGNATURE} header: only Twilio may open this path"
    algorithm = _algorithm(said or "")
    if algorithm is None:
        return "the request is signed in a way that is not known; HMAC_SHA1 and HMAC_SHA256 are"
    secrets = [settings.auth_token] if algorithm == "HMAC_SHA1" else [settings.shared_key, settings.auth_token]
    for secret in secrets:
        for url in signed_urls(path, host, settings.public_url):
            if secret is not None and _same(signature(secret, url, algorithm=algorithm), given):
                return None
    return f"the {SIGNATURE} does not fit: check the auth token, and set public_url to the URL in the TwiML"


def signed_urls(path: str, host: str, public_url: str | None) -> list[str]:
    """The forms of a stream's URL that may have been signed: host as it came, without a port, with `:443`, and as
    configured (with `wss` for whatever scheme was written; without a path it takes the request's)."""
    bare = host if host.endswith("]") else host.rpartition(":")[0] or host
    urls = [f"wss://{form}{path}" for form in dict.fromkeys((host, bare, f"{bare}:443"))]
    if public_url:
        public = urlsplit(public_url if "://" in public_url else f"wss://{public_url}")
        place = public.path + (f"?{public.query}" if public.query else "") or path
        urls.append(f"wss://{public.netloc}{place}")
    return urls


def _algorithm(said: str) -> Algorithm | None:
    for part in said.split(","):
        name, _, value = part.partition("=")
        if name.strip() == "algorithm" and value.strip():
            return next((known for known in ("HMAC_SHA1", "HMAC_SHA256") if known == value.strip().upper()), None)
    return "HMAC_SHA1"


def _same(wanted: str, given: str) -> bool:
    return hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace"))
