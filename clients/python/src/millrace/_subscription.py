"""Iterates over a server's stream of answers, also across lost connections.

      +-------> listening -----------------> ended      the server ends the call with OK, or close()
      |             |   \
      |             |    +-----------------> failed     any other error: raised
      |  UNAVAILABLE|
      |             v
      +--------- waiting ------------------> failed     for too long: ConnectionLost

This module has the states, the waits and the threads, which are the same for all streams. A Source
makes the calls and interprets the answers.
"""

import threading
import weakref
from collections.abc import Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

import grpc

from millrace._backoff import Backoff, Reconnect
from millrace._errors import MillraceError, Unavailable

Item = TypeVar("Item")
ItemMade = TypeVar("ItemMade", covariant=True)


class Source(Protocol[ItemMade]):
    """The specific part of a Subscription: its call and its items."""

    def start(self, again: bool) -> Any:
        """Begins a call; `again` if an earlier connected call was lost."""

    def item(self, response: Any) -> ItemMade | None:
        """Converts an answer to an item. None: it is no item."""

    def error_of(self, error: grpc.RpcError) -> MillraceError:
        """Converts the error of a failed call to this package's type."""

    def forget_place(self, error: MillraceError) -> bool:
        """Whether the error means that the call cannot resume where the earlier one stopped. Then
        the next call starts from the present."""


class Subscription(Iterator[Item], Generic[Item]):
    """Iterates over a server's answers until the server ends the call. A context manager.

    Reconnects if the server cannot be reached for a while (Reconnect). Raises MillraceError, and is
    then finished. Belongs to one thread; close() may be called from any.
    """

    def __init__(self, source: Source[Item], reconnect: Reconnect):
        self._source = source
        self._clock = reconnect.clock
        self._backoff = Backoff(reconnect)
        self._closed = threading.Event()
        self._lock = threading.Lock()  # Guards _call against close().
        self._answered_at: float | None = None
        self._had_connected = False
        self._call = source.start(again=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __next__(self) -> Item:
        while not self._closed.is_set():
            try:
                self.wait_for_server()
                response = next(self._call)
            except StopIteration:
                self.close()
            except grpc.RpcError as error:
                self._recover(self._source.error_of(error))
            else:
                item = self._source.item(response)
                if item is not None:
                    self._connected()
                    return item
        raise StopIteration

    def wait_for_server(self) -> None:
        """Waits for the server's first answer. If it has accepted the subscription, every later
        loss is counted. If not, the next item raises the error, or reconnects."""
        self._call.initial_metadata()
        if self._answered_at is None:
            self._answered_at = self._clock.now()

    def is_open(self) -> bool:
        """Whether more items may come: it has not ended, failed or been closed."""
        return not self._closed.is_set()

    def close(self) -> None:
        """Ends it: a waiting iteration stops. Idempotent, from any thread."""
        with self._lock:
            self._closed.set()
            self._call.cancel()

    def _connected(self) -> None:
        self._had_connected = True
        self._backoff.connected()

    def _recover(self, error: MillraceError) -> None:
        """Starts another call, after a wait, if that can help; otherwise raises the error."""
        if self._closed.is_set():
            return
        if self._stood():
            self._connected()
        try:
            if not self._source.forget_place(error):
                self._wait_out(error)
        except MillraceError:
            self.close()
            raise
        self._start_again()

    def _stood(self) -> bool:
        return (self._answered_at is not None
                and self._clock.now() - self._answered_at >= Backoff.STANDS_AFTER)

    def _wait_out(self, error: MillraceError) -> None:
        if not isinstance(error, Unavailable):
            raise error
        self._clock.wait(self._closed, self._backoff.wait_after(error))

    def _start_again(self) -> None:
        with self._lock:
            if not self._closed.is_set():
                self._answered_at = None
                self._call = self._source.start(again=self._had_connected)


class Subscriptions:
    """The subscriptions of one client, to be closed with it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Subscription[Any]] = weakref.WeakSet()

    def add(self, subscription: Subscription[Item]) -> Subscription[Item]:
        """Adds a subscription and returns it."""
        with self._lock:
            self._open.add(subscription)
        return subscription

    def close(self) -> None:
        """Closes all subscriptions."""
        with self._lock:
            subscriptions = list(self._open)
        for subscription in subscriptions:
            subscription.close()
