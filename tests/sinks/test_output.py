"""Text on its way out, where the other side is slow, gone, or of another alphabet."""

from __future__ import annotations

import os
import threading

import pytest

from monitor.sinks.output import Output


def test_a_pipe_left_in_non_blocking_mode_gets_everything() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    text = "a line of the feed\n" * 20_000  # several times what a pipe holds
    got: list[bytes] = []

    def read() -> None:
        while data := os.read(reader, 65536):
            got.append(data)

    reading = threading.Thread(target=read)
    reading.start()
    try:
        with open(writer, "w", encoding="utf-8") as pipe:
            Output(pipe).write(text)
    finally:
        reading.join()
        os.close(reader)
    assert b"".join(got).decode() == text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "utf-16"])
def test_no_character_is_an_error(encoding: str) -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding=encoding) as pipe:
        Output(pipe).write("→ ●━█ “x” \u4f60")
    shown = os.read(reader, 1000).decode(encoding)
    os.close(reader)
    plain = encoding in ("ascii", "cp1252")
    quotes = '"x"' if encoding == "ascii" else "“x”"
    assert shown == (f"> *=# {quotes} ?" if plain else "→ ●━█ “x” \u4f60")


def test_a_stream_without_an_encoding_takes_everything() -> None:
    class Odd:
        encoding = None
        text = ""

        def write(self, text: str, /) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    odd = Odd()
    output = Output(odd)
    output.open()
    output.write("→")
    assert (odd.text, output.terminal, output.encoding) == ("→", False, "utf-8")
