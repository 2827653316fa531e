"""The items that the fake server sends: a stream's run, as long as the test wants it."""

import threading
from collections.abc import Iterator
from typing import Any

import grpc

HELD = 4  # The number of newest items that are kept for late calls.


class Life:
    """A growing list, numbered from 1, that any number of calls follow. Thread-safe."""

    def __init__(self, run_id: str):
        self.run_id = run_id
        self._changed = threading.Condition()
        self._items: list[Any] = []
        self._ends = 0
        self._error: Any = None

    def add(self, item: Any) -> None:
        with self._changed:
            self._items.append(item)
            self._changed.notify_all()

    def end(self, error: Any) -> None:
        """Ends all current calls, with the error or with OK."""
        with self._changed:
            self._ends += 1
            self._error = error
            self._changed.notify_all()

    def newest(self) -> int:
        """The number of the newest item; 0: no item."""
        with self._changed:
            return len(self._items)

    def after(self, number: int, context: grpc.ServicerContext) -> Iterator[tuple[int, int, Any]]:
        """The items after `number`, each with its number and the number of lost items before it. A
        later end() ends this call."""
        with self._changed:
            ends = self._ends
        context.add_callback(self._wake)
        return self._after(number, ends, context)

    def _after(self, number: int, ends: int, context: grpc.ServicerContext) -> Iterator:
        while item := self._next(number, ends, context):
            number = item[0]
            yield item
        if context.is_active() and self._error:
            self._error.end(context)

    def _next(self, number: int, ends: int, context: grpc.ServicerContext) -> tuple | None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._items) > number or self._ends > ends
                                   or not context.is_active())
            if self._ends > ends or not context.is_active():
                return None
            oldest = max(number + 1, len(self._items) - HELD + 1)
            return oldest, oldest - number - 1, self._items[oldest - 1]

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
