#!/usr/bin/env python3
"""Makes what a broker on a desk needs: a certificate authority, the broker's certificate, users and their passwords.

    python deploy/mosquitto/desk.py                        into deploy/desk
    python deploy/mosquitto/desk.py --host broker.lan      a name that clients reach the broker by, besides localhost
    python deploy/mosquitto/desk.py --site berlin          a user for the monitors of one more site

What is there already is kept, so it may be run again. It needs Python and the program openssl, nothing else.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import ipaddress
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

HOSTS = ("localhost", "127.0.0.1", "::1", "mosquitto")
SITE = "local"
CA_DAYS, BROKER_DAYS = 3650, 820
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
ITERATIONS, SALT_BYTES = 101, 12
"""Of a password file's PBKDF2, as mosquitto_passwd 2.0 writes it. The passwords are random, so few rounds do."""


def make(folder: Path, hosts: Iterable[str] = (), sites: Sequence[str] = (SITE,)) -> None:
    """Fill `folder`. The folder is closed to others; the files in it are not, since containers read them as users of
    their own. Raises SystemExit with what is missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    _authority(folder)
    _broker(folder, (*HOSTS, *hosts))
    _users(folder, (*sites, "fleet", "viewer"))
    token = folder / "token"
    if not token.exists():
        _write(token, secrets.token_urlsafe(24))
    monitors, *_ = sites
    _settings(folder, "turnwatch", monitors, monitors, f"TURNWATCH_TOKEN={token.read_text()}")
    _settings(folder, "fleet", "fleet", monitors)


def _settings(folder: Path, program: str, user: str, site: str, *more: str) -> None:
    """What `program` reads from its environment: only for who starts it."""
    password = (folder / "users" / user).read_text()
    own = (f"TURNWATCH_MQTT__USERNAME={user}", f"TURNWATCH_MQTT__PASSWORD={password}", f"TURNWATCH_MQTT__SITE={site}")
    _write(folder / f"{program}.env", "".join(f"{line}\n" for line in (*own, *more)))
    (folder / f"{program}.env").chmod(0o600)


def _authority(folder: Path) -> None:
    if (folder / "ca.key").exists():
        return
    extensions = ("basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign,cRLSign")
    added = [word for extension in extensions for word in ("-addext", extension)]
    out = ("-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt"))
    _openssl("req", "-x509", *NEW_KEY, "-days", str(CA_DAYS), "-subj", "/CN=Turnwatch desk", *added, *out)
    (folder / "ca.key").chmod(0o600)


def _broker(folder: Path, hosts: Iterable[str]) -> None:
    """A new certificate each time: it costs nothing, and names may have come."""
    extensions = f"""\
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
subjectAltName={",".join(dict.fromkeys(map(_name, hosts)))}
"""
    key, certificate = folder / "broker.key", folder / "broker.crt"
    with tempfile.TemporaryDirectory() as scratch:
        request, wanted = Path(scratch) / "request", Path(scratch) / "extensions"
        wanted.write_text(extensions)
        _openssl("req", "-new", *NEW_KEY, "-subj", "/CN=broker", "-keyout", str(key), "-out", str(request))
        signer = ("-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key"), "-set_serial", str(_serial()))
        days = ("-days", str(BROKER_DAYS))
        _openssl("x509", "-req", "-in", str(request), *signer, *days, "-extfile", str(wanted), "-out", str(certificate))
    key.chmod(0o644)


def _serial() -> int:
    return secrets.randbits(126) + 1


def _name(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def _users(folder: Path, names: Iterable[str]) -> None:
    """A password for each, as `users/NAME`, and all of them in the broker's file."""
    (folder / "users").mkdir(exist_ok=True)
    for name in names:
        if not name or any(letter in name for letter in ":/+#%~\n"):
            raise SystemExit(f"{name!r} is no name for a site: it may hold none of : / + # % ~")
        if not (folder / "users" / name).exists():
            _write(folder / "users" / name, secrets.token_urlsafe(24))
    known = sorted((folder / "users").iterdir())
    _write(folder / "passwords", "".join(f"{user.name}:{hashed(user.read_text().strip())}\n" for user in known))


def hashed(password: str) -> str:
    """As it stands in a mosquitto password file (`$7$`: PBKDF2 with SHA-512)."""
    salt = os.urandom(SALT_BYTES)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)


def _openssl(*arguments: str) -> None:
    try:
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit("openssl is not there: install the system package openssl") from None
    if done.returncode:
        raise SystemExit(f"openssl {arguments[0]} failed: {done.stderr.strip()}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1] / "desk")
    parser.add_argument("--host", action="append", default=[], help="one more name or address of the broker")
    parser.add_argument("--site", action="append", default=[], help=f"whose monitors may write (default: {SITE})")
    given = parser.parse_args()
    make(given.folder, given.host, given.site or [SITE])
    print(f"{given.folder}: ca.crt for clients, users/NAME with their passwords, token for Turnwatch", file=sys.stderr)


if __name__ == "__main__":
    main()
