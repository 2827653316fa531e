"""The promises of a server that for a while has no descriptors: some calls wait until it has them again."""

import contextlib
import threading
from collections.abc import Iterator

from promises import ANSWERS_WITHIN_S, Promises


class ChaosPromises(Promises):
    """Promises of a server that for a while cannot open what a new stream and a scrape need."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._turn = threading.Condition()
        self._held_off = False
        self._under_way = 0

    @contextlib.contextmanager
    def held_off(self) -> Iterator[None]:
        """Lets changes of streams and scrapes end, and begins no other during the block. Other calls go on."""
        with self._turn:
            self._held_off = True
            self._turn.wait_for(lambda: self._under_way == 0)
        try:
            yield
        finally:
            with self._turn:
                self._held_off = False
                self._turn.notify_all()

    @contextlib.contextmanager
    def answers(self, call: str, who: str = "", within_s: float = ANSWERS_WITHIN_S) -> Iterator[None]:
        waits = call.startswith(("CreateStream", "UpdateStream", "DeleteStream"))
        with (self._when_not_held_off() if waits else contextlib.nullcontext(), super().answers(call, who, within_s)):
            yield

    def _audit(self) -> None:
        with self._when_not_held_off():
            super()._audit()

    @contextlib.contextmanager
    def _when_not_held_off(self) -> Iterator[None]:
        with self._turn:
            self._turn.wait_for(lambda: not self._held_off)
            self._under_way += 1
        try:
            yield
        finally:
            with self._turn:
                self._under_way -= 1
                self._turn.notify_all()
