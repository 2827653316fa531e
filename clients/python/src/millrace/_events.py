"""Events of the camera streams."""

import dataclasses
import datetime
from typing import Any

import grpc

from millrace._connection import Connection
from millrace._errors import MillraceError
from millrace._states import LearnerState, OverloadKind, SourceState
from millrace._wire import WireEnum, time_of
from millrace.v1 import stream_service_pb2 as messages


class EventKind(WireEnum):
    """The kind of an event."""

    UNSPECIFIED = 0
    # The stream existed when the watch began.
    EXISTS = 1
    CREATED = 2
    # Its configuration was changed, or it was recreated.
    UPDATED = 3
    # It was deleted.
    DELETED = 4
    # The state of the source, or of the learner, changed.
    SOURCE_STATE = 5
    LEARNER_STATE = 6
    # Its overload changed or ended.
    OVERLOAD = 7


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamEvent:
    """An event of a camera stream."""

    stream: str
    # The time of the event in UTC, by the server's clock.
    time: datetime.datetime | None
    kind: EventKind
    # The states of source and learner after the event, and the cause of a problem.
    source_state: SourceState
    learner_state: LearnerState
    cause: str
    # The stream's overload after the event: its kind, the dropped work in words, and the
    # configuration's values that end it.
    overload: OverloadKind
    overload_cause: str
    overload_remedy: str
    # Events that this watcher lost before this one, because it read too slowly. Events of all
    # camera streams count, even if it watches only one.
    dropped: int
    # Whether this is the first event after a lost connection. The watch has restarted: an EXISTS
    # comes for each existing stream, and the events in between are unknown.
    restarted: bool


class EventSource:
    """A Source of events. It restarts after a lost connection: the server keeps no past events."""

    def __init__(self, connection: Connection, stream: str):
        self._connection = connection
        self._request = messages.WatchStreamsRequest(stream=stream)
        self._restarted = False

    def start(self, again: bool) -> Any:
        self._restarted = again
        return self._connection.begin(self._connection.streams.WatchStreams, self._request)

    def item(self, response: messages.WatchStreamsResponse) -> StreamEvent:
        event = response.event
        restarted, self._restarted = self._restarted, False
        return StreamEvent(stream=event.stream, time=time_of(event, "time"),
                           kind=EventKind(event.kind), source_state=SourceState(event.source_state),
                           learner_state=LearnerState(event.learner_state), cause=event.cause,
                           overload=OverloadKind(event.overload),
                           overload_cause=event.overload_cause,
                           overload_remedy=event.overload_remedy, dropped=response.dropped,
                           restarted=restarted)

    def error_of(self, error: grpc.RpcError) -> MillraceError:
        return self._connection.error_of(error)

    def forget_place(self, error: MillraceError) -> bool:
        return False
