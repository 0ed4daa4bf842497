"""The end of a call whose last answers are still awaited.

Everything that was heard has been told, and the last questions are out. `call.ended` waits until they are answered, or
their time is over by the connector's clock (`Elapsed`), or the call is ended for a second time.
"""

from __future__ import annotations

from connectors import inputs
from monitor.core.conversation import Conversation
from monitor.core.events import Cause
from monitor.core.telling import Teller


class Closing:
    """The last stretch of a call of `length` ms that ended for `cause`; `now` is the media time it came to. `over`:
    `call.ended` has been told."""

    def __init__(self, teller: Teller, conversation: Conversation, now: int, length: int, cause: Cause) -> None:
        self._teller = teller
        self._conversation = conversation
        self._now = now
        self._length = length
        self._cause = cause
        self.over = False
        teller.close(now)
        self._end_if_answered()

    def take(self, given: inputs.Input) -> bool:
        """An input after the end. -> whether the call is over now."""
        if isinstance(given, inputs.Elapsed):
            self._now = max(self._now, given.at)
        self._teller.known(self._now)
        if isinstance(given, inputs.Notice):
            self._teller.notice(given.kind, given.track, given.count, given.message, given.at)
        self._teller.tell(self._conversation.take_late(given, self._now))
        self._teller.look()
        self._end_if_answered()
        return self.over

    def _end_if_answered(self) -> None:
        if not self.over and not self._conversation.waiting(self._now):
            self.over = True
            self._teller.ended(self._length, self._cause)
