"""TLS to the broker, and in words what went wrong with it."""

from __future__ import annotations

import ssl

from monitor.sinks import SinkError
from monitor.sinks.distrust import not_trusted
from monitor.sinks.mqtt.settings import MqttSettings


def context(settings: MqttSettings) -> ssl.SSLContext:
    """What TLS trusts and shows, read anew from the files. Raises SinkError where these are no good."""
    try:
        made = ssl.create_default_context(cafile=settings.ca_file)
    except FileNotFoundError as error:
        raise SinkError(f"mqtt.ca_file: there is no file {settings.ca_file}") from error
    except (OSError, ssl.SSLError) as error:
        raise SinkError(f"mqtt.ca_file: {settings.ca_file} holds no certificate in PEM ({error})") from error
    if settings.cert_file is not None:
        own = settings.cert_file, settings.key_file
        try:
            made.load_cert_chain(*own, password=_no_password)
        except FileNotFoundError as error:
            raise SinkError(f"mqtt.cert_file, mqtt.key_file: one of {own[0]} and {own[1]} is not there") from error
        except (OSError, ssl.SSLError) as error:
            raise SinkError(
                f"mqtt.cert_file, mqtt.key_file: {own[0]} and {own[1] or 'the key within'} are not a certificate and "
                f"its key in PEM, without a password ({error})"
            ) from error
    if settings.tls_insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def _no_password() -> bytes:
    return b""  # OpenSSL would ask the terminal


def cause(error: ssl.SSLError, host: str, ca_file: str | None = None) -> str:
    """Why TLS did not come about, and what to do. `ca_file`: as it is set."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or str(error)
        return not_trusted(why, host, owner="broker", setting="mqtt.ca_file", ca_file=ca_file, quote=True)
    reason = (error.reason or str(error)).upper().replace(" ", "_")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError) or "WRONG_VERSION_NUMBER" in reason:
        return (
            "it does not speak TLS there: mqtts:// needs the broker's TLS port (8883 as a rule); "
            "mqtt:// speaks to a plain port"
        )
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        return (
            "the broker wants a certificate of this client, or one that it trusts: set mqtt.cert_file and mqtt.key_file"
        )
    if any(word in reason for word in ("UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED")):
        return f"the broker does not trust this client's certificate, mqtt.cert_file ({_told(error)})"
    if "VERSION" in reason or "PROTOCOL" in reason:
        return f"the broker and this program know no version of TLS in common ({_told(error)}): renew the broker's"
    return f"TLS failed: {_told(error)}"


def _told(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
