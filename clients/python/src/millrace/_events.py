"""What happens to the camera streams, as it happens."""

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
    """What happened to a camera stream."""

    UNSPECIFIED = 0
    # It was there when the watching began.
    EXISTS = 1
    CREATED = 2
    # Its configuration was changed, or it was made anew.
    UPDATED = 3
    # It was deleted.
    DELETED = 4
    # The source, or the learner, does something else than before.
    SOURCE_STATE = 5
    LEARNER_STATE = 6
    # It gives up something else than before, because its camera sends more than the model has time
    # for, or nothing any more.
    OVERLOAD = 7


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamEvent:
    """Something that happened to a camera stream."""

    stream: str
    # When, in UTC, by the server's clock.
    time: datetime.datetime | None
    kind: EventKind
    # What the source and the learner were doing from then on, and why, where something is wrong.
    source_state: SourceState
    learner_state: LearnerState
    cause: str
    # What the stream gave up from then on, because its camera sends more than the model has time
    # for, that in words, and which values of its configuration end it.
    overload: OverloadKind
    overload_cause: str
    overload_remedy: str
    # Events that this watcher lost before this one, because it read too slowly: those of all camera
    # streams count, also where it watches one.
    dropped: int
    # Whether this is the first one after a lost connection. The watching began anew: an EXISTS
    # comes for each stream there is, and what came between is not known.
    restarted: bool


class EventSource:
    """A Source of events. It begins anew after a lost connection: the server keeps no past ones."""

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
