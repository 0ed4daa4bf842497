"""Why nothing came of a request, in words: TLS above all, whose own messages say little."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

from monitor.sinks.distrust import not_trusted
from monitor.sinks.webhook.targets import Target


def reason(error: BaseException, target: Target, ca_file: str | None = None) -> str:
    """What went wrong and what to do, without secrets: the same words for the same trouble. `ca_file`: as it is set."""
    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, ssl.SSLError) and not isinstance(one, ssl.SSLWantReadError | ssl.SSLWantWriteError):
            return _tls(one, target, ca_file)
    if any(isinstance(one, httpx.ProxyError) for one in chain):
        return "the proxy of the environment (HTTPS_PROXY, HTTP_PROXY) does not let it through: look there, or NO_PROXY"
    if isinstance(error, httpx.ConnectTimeout):
        return "it cannot be reached in time (webhook.timeout_s): look at the URL and its port, the network, a firewall"
    for one in chain:
        if isinstance(one, ConnectionRefusedError):
            return "nobody listens there: is it running, and the port right?"
        if isinstance(one, socket.gaierror):
            return "no machine is known by that name: look at the URL, or the network"
        if isinstance(one, TimeoutError | httpx.TimeoutException):
            return "it did not answer in time (webhook.timeout_s); it may have taken the event, whose id stays the same"
    if any(isinstance(one, httpx.ConnectError) for one in chain):
        hint = ": is that the port for https?" if target.url.startswith("https:") else ""
        return f"it cannot be reached{hint}"
    if any(isinstance(one, httpx.RemoteProtocolError) for one in chain):
        return "it broke off, or what it says is not HTTP: is that the right port?"
    if any(isinstance(one, httpx.TransportError | OSError) for one in chain):
        return "the connection broke"
    return f"the request failed ({type(error).__name__})"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting and len(seen) < 50:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)
        waiting.extend((one.__cause__, one.__context__))


def _tls(error: ssl.SSLError, target: Target, ca_file: str | None) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or str(error)
        return not_trusted(why, target.shown, owner="receiver", setting="webhook.ca_file", ca_file=ca_file)
    why = (error.reason or str(error)).upper().replace(" ", "_")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError) or "WRONG_VERSION_NUMBER" in why:
        return "it does not speak TLS there: https:// needs its TLS port"
    if "CERTIFICATE_REQUIRED" in why or "HANDSHAKE_FAILURE" in why:
        return "it wants a certificate of this client, or TLS that this program does not know"
    if "VERSION" in why or "PROTOCOL" in why:
        return "it and this program know no version of TLS in common: renew the receiver's"
    return f"TLS failed: {why.replace('_', ' ').lower()}"
