"""Why a certificate is not trusted, in words that say what to do: for every sink that speaks TLS."""

from __future__ import annotations


def not_trusted(why: str, host: str, *, owner: str, setting: str, ca_file: str | None, quote: bool = False) -> str:
    """`why`: OpenSSL's words. `owner`: whose certificate it is (`broker`). `setting`: the key that `ca_file` was, or
    would be, set by. `quote`: show OpenSSL's words where they add something."""
    said = f" ({why})" if quote else ""
    lower = why.lower()
    if "mismatch" in lower or "is not valid for" in lower:
        return f"its certificate is not for {host}: use the name that stands in the certificate{said}"
    if "expired" in lower:
        return f"its certificate has expired: renew the {owner}'s certificate (or set this machine's clock right)"
    if "not yet valid" in lower:
        return "its certificate is not valid yet: set this machine's clock right"
    if not any(word in lower for word in ("self", "issuer", "unable to get", "signature")):
        return f"its certificate is not accepted: {why}"
    if ca_file is None:
        return (
            f"its certificate is signed by nobody that is trusted here{said}: set {setting} to the certificate of the "
            "authority that signed it"
        )
    return (
        f"its certificate is not signed by the authority in {setting}, {ca_file}{said}: that is another's; put the "
        f"certificate of the one that signed the {owner}'s there"
    )
