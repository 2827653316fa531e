"""What a server sends for as long as one listens, and goes on sending after a lost connection.

      +-------> listening -----------------> ended      the server ends the call with OK, or close()
      |             |   \
      |             |    +-----------------> failed     any other error: raised
      |  UNAVAILABLE|
      |             v
      +--------- waiting ------------------> failed     for too long: ConnectionLost

The states, the waits and the threads are the same whatever is listened to; what to ask for, and
what an answer means, a Source knows.
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
    """What a Subscription listens to."""

    def start(self, again: bool) -> Any:
        """Begins a call; `again` where one that had connected was lost."""

    def item(self, response: Any) -> ItemMade | None:
        """What an answer means. None: it is no item."""

    def error_of(self, error: grpc.RpcError) -> MillraceError:
        """What a call failed with, as an error of this package's."""

    def forget_place(self, error: MillraceError) -> bool:
        """Whether the error says that the call cannot go on where the one before stopped. Then the
        next call begins anew."""


class Subscription(Iterator[Item], Generic[Item]):
    """Iterates over what a server sends, until it ends the call. A context manager.

    Connects again when the server cannot be reached for a while (Reconnect). Raises MillraceError,
    and is over then. Belongs to one thread; close() may be called from any.
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
        """Waits until the server has answered. Where it has taken the subscription, nothing from
        then on is lost uncounted; where it has not, the next item raises why, or connects again."""
        self._call.initial_metadata()
        if self._answered_at is None:
            self._answered_at = self._clock.now()

    def is_open(self) -> bool:
        """Whether there may be more: it has neither ended nor failed, and was not closed."""
        return not self._closed.is_set()

    def close(self) -> None:
        """Ends it: whoever waits for the next item gets none. Idempotent, from any thread."""
        with self._lock:
            self._closed.set()
            self._call.cancel()

    def _connected(self) -> None:
        self._had_connected = True
        self._backoff.connected()

    def _recover(self, error: MillraceError) -> None:
        """Starts another call, after a wait, if that can help; raises the error if not."""
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
    """Those of one client, to be closed with it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[Subscription[Any]] = weakref.WeakSet()

    def add(self, subscription: Subscription[Item]) -> Subscription[Item]:
        """Returns what it is given."""
        with self._lock:
            self._open.add(subscription)
        return subscription

    def close(self) -> None:
        """Closes each."""
        with self._lock:
            subscriptions = list(self._open)
        for subscription in subscriptions:
            subscription.close()
