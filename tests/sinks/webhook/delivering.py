"""A program of its own that has alerts delivered and says which are safe, for tests that kill it.

python -m tests.sinks.webhook.delivering URL SPOOL_DIR [MAX_FILE_BYTES]
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import sys

from monitor.sinks.webhook.settings import WebhookSettings
from monitor.sinks.webhook.sink import make
from tests.sinks.webhook.alerts import raised


async def main(url: str, spool_dir: str, max_file_bytes: str = "") -> None:
    if max_file_bytes:  # the system refuses to let a file grow, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(max_file_bytes), int(max_file_bytes)))
    settings = WebhookSettings(
        urls=(url,),
        spool_dir=spool_dir,
        timeout_s=0.2,
        first_rest_s=0.01,
        longest_rest_s=0.02,
        secret="a secret of some length",
    )
    ((_, sink),) = make(settings)
    await sink.open()
    for seq in itertools.count():
        await sink.deliver(raised(seq, message="m" * 200))
        print(seq, flush=True)
        await asyncio.sleep(0.001)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
