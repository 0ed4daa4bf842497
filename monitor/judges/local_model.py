"""The local judge's model: sentence embeddings by onnxruntime, and a logistic regression over what they tell.

It sees one window at a time and keeps nothing of it but embeddings of single turns, so a verdict does not depend on
what else was judged, nor on the order.
"""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from monitor.judges.local_features import Comparison, Seen, form_of
from monitor.judges.local_files import MODEL, TOKENIZER, LocalModelError, check_installed
from monitor.judges.local_weights import BIAS, GENERIC, MEAN, SCALE, STRANGERS, WEIGHTS

THRESHOLD: Final = 0.5
"""A relevance below this is a "no". Placed on the dialogues that the model was fitted on, never on those it is measured
on (see `local_features.py`)."""

MAX_TOKENS: Final = 128
"""A turn's words beyond this many word pieces are not seen."""

CACHED_TURNS: Final = 4096
"""Texts whose embedding is kept, about 1.5 kB each beside the text."""

Vectors = npt.NDArray[np.float32]
"""Unit vectors, (texts, 384)."""


class LocalModel:
    """Measures replies. Safe to call from several threads, which wait for each other. Loaded when it is first used:
    about 1.5 s and 220 MB. `threads`: of onnxruntime, for one reply."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._inputs: frozenset[str] = frozenset()
        self._seen: OrderedDict[str, Vectors] = OrderedDict()
        self._generic: Vectors = np.empty((0, 0), np.float32)
        self._strangers: Vectors = np.empty((0, 0), np.float32)

    def load(self) -> None:
        """Load the model now, if it is not loaded. Raises LocalModelError."""
        with self._lock:
            if self._session is None:
                self._load()

    def compare(self, seen: Seen) -> Comparison:
        """The reply compared with what was said before it; there must be both. Raises LocalModelError."""
        self.load()
        with self._lock:
            vectors = self._embed([seen.reply, seen.asked or seen.recent, seen.recent, *seen.turns])
        answer, asked, recent, turns = vectors[0], vectors[1], vectors[2], vectors[3:]
        near, generic, to_recent = turns @ answer, float((self._generic @ answer).max()), float(recent @ answer)
        form = form_of(seen)
        return Comparison(
            float(asked @ answer),
            to_recent,
            float(near[:-1].max()) if len(near) > 1 else float(near[0]),
            float(near.mean()),
            float((self._strangers @ answer).mean()),
            float((self._strangers @ recent).mean()),
            generic,
            generic * to_recent,
            form.words_of_asked,
            form.words_of_window,
            float(np.log1p(form.reply_words)),
            float(np.log1p(form.asked_words)),
            form.amount,
            form.yes_no,
            form.asks_back,
        )

    def _load(self) -> None:
        check_installed()
        model, vocabulary = MODEL.checked(), TOKENIZER.checked()
        try:
            onnxruntime, tokenizers = importlib.import_module("onnxruntime"), importlib.import_module("tokenizers")
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self._threads
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            options.enable_cpu_mem_arena = False  # shapes change with every turn: the arena would only grow
            self._tokenizer = tokenizers.Tokenizer.from_buffer(vocabulary)
            self._tokenizer.enable_truncation(MAX_TOKENS)
            self._tokenizer.no_padding()
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own, which need them imported to be named
            raise LocalModelError(f"onnxruntime or tokenizers cannot load the local judge's model: {error}") from error
        self._inputs = frozenset(one.name for one in session.get_inputs())
        self._session = session
        self._generic, self._strangers = self._embed(GENERIC), self._embed(STRANGERS)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Their unit vectors. Texts go in one by one: the int8 scales depend on the batch, and a verdict must not."""
        vectors = np.stack([self._embedding(text) for text in texts])
        while len(self._seen) > CACHED_TURNS:
            self._seen.popitem(last=False)
        return vectors

    def _embedding(self, text: str) -> Vectors:
        if text in self._seen:
            self._seen.move_to_end(text)
            return self._seen[text]
        coded = self._tokenizer.encode(text)
        ids, mask = np.array([coded.ids], np.int64), np.array([coded.attention_mask], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: row for name, row in feed.items() if name in self._inputs})[0]
        pooled = hidden[0] if hidden.ndim == 2 else (hidden * mask[..., None]).sum(1)[0] / mask.sum()
        vector: Vectors = (pooled / np.linalg.norm(pooled)).astype(np.float32)
        self._seen[text] = vector
        return vector


SHARED: Final = LocalModel()
"""The process's own: all judges use it."""


def relevance_of(comparison: Comparison) -> float:
    """How relevant the reply is, 0..1, by logistic regression."""
    weighed = (np.array(comparison) - np.array(MEAN)) / np.array(SCALE) @ np.array(WEIGHTS) + BIAS
    return float(1.0 / (1.0 + np.exp(-weighed)))
