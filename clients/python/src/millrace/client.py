"""The way in: one object for all that a server offers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from google.protobuf.struct_pb2 import Struct

from millrace import labels as labels_module
from millrace.backoff import Reconnect
from millrace.checkpoints import Checkpoints
from millrace.connection import CHANGE_TIMEOUT_S, Connection, Tls
from millrace.events import EventSource, StreamEvent
from millrace.labels import Label, LabelOutcome
from millrace.learner import Learner
from millrace.pictures import Picture, put_picture
from millrace.prediction import Prediction
from millrace.prediction_source import Parts, Policy, PredictionSource
from millrace.pushing import Frame, Pushing
from millrace.streams import Stream
from millrace.subscription import Subscription, Subscriptions
from millrace.v1 import prediction_service_pb2, stream_service_pb2


class Client:
    """A client of one server. A context manager; thread-safe.

    Connects when first used. `token` goes along with every call, or what it returns where it is
    a function; without `tls` it can be read on the way. A call that is not answered within
    `timeout` seconds raises DeadlineExceeded. Every method raises MillraceError when the server
    refuses or cannot be reached. `stream` may be empty where the server has just one.
    """

    def __init__(self, address: str = "127.0.0.1:50051", *,
                 token: str | Callable[[], str] | None = None, tls: Tls | bool = False,
                 timeout: float = 10.0, reconnect: Reconnect = Reconnect()):
        trust = tls if isinstance(tls, Tls) else Tls() if tls else None
        self._connection = Connection(address, token=token, tls=trust, timeout=timeout)
        self._reconnect = reconnect
        self._subscriptions = Subscriptions()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all subscriptions, and closes the connection. Idempotent."""
        self._subscriptions.close()
        self._connection.close()

    def streams(self) -> list[Stream]:
        """All camera streams, in the server's order."""
        request = stream_service_pb2.ListStreamsRequest()
        answer = self._connection.ask(self._connection.streams.ListStreams, request)
        return [Stream(message) for message in answer.streams]

    def stream(self, name: str = "") -> Stream:
        """One camera stream. Raises NotFound, naming those there are."""
        request = stream_service_pb2.GetStreamRequest(stream=name)
        return Stream(self._connection.ask(self._connection.streams.GetStream, request).stream)

    def latest(self, name: str = "", *, parts: Parts | None = None) -> Prediction:
        """A stream's newest prediction, with all arrays if `parts` does not say which. Raises
        Unavailable before the first."""
        request = prediction_service_pb2.GetLatestRequest(
            stream=name, parts=None if parts is None else parts.message())
        answer = self._connection.ask(self._connection.predictions.GetLatest, request)
        return Prediction(message=answer.prediction)

    def predict(self, stream: str, pictures: Sequence[Picture], *,
                parts: Parts | None = None) -> Prediction:
        """What a stream's model, as it is now, says of pictures of your own, the oldest first: two
        of a stream of optical flow, three where it predicts the next frame, one where it learns
        from labels. Nothing is learned from them. `parts` as for latest()."""
        request = prediction_service_pb2.PredictRequest(
            stream=stream, parts=None if parts is None else parts.message())
        for picture in pictures:
            put_picture(picture, request.pictures.add())
        answer = self._connection.ask(self._connection.predictions.Predict, request)
        return Prediction(message=answer.prediction)

    def predictions(self, stream: str = "", *, policy: Policy = Policy.DROP_OLDEST, depth: int = 0,
                    parts: Parts | None = None,
                    reconnect: Reconnect | None = None) -> Subscription[Prediction]:
        """Every prediction made from now on, until the stream ends.

        One who reads slowly loses some by the `policy`, of which `depth` may wait, 1 to 256 (0:
        16); Prediction.dropped counts them. Goes on after a lost connection where it was, if the
        server still knows that place; Prediction.restarted says if not. `parts` as for latest().
        """
        request = prediction_service_pb2.SubscribeRequest(
            stream=stream, policy=f"DELIVERY_POLICY_{policy.name}", depth=depth,
            parts=None if parts is None else parts.message())
        source = PredictionSource(self._connection, request)
        return self._subscriptions.add(Subscription(source, reconnect or self._reconnect))

    def watch(self, stream: str = "", *,
              reconnect: Reconnect | None = None) -> Subscription[StreamEvent]:
        """What happens to one stream, or to all: first an EXISTS for each there is. Begins anew
        after a lost connection (StreamEvent.restarted). Ends when the one stream is deleted."""
        source = EventSource(self._connection, stream)
        return self._subscriptions.add(Subscription(source, reconnect or self._reconnect))

    def push(self, stream: str, frames: Iterable[Frame | Picture], *,
             parts: Parts | None = None) -> Pushing:
        """Sends frames to a stream whose `source.uri` is `push:`, and iterates over what becomes of
        each: its prediction, or why it has none. An array is a frame whose id is its number in
        `frames`, from 0. One at a time pushes to a stream: FailedPrecondition for another. `parts`
        as for latest(). Not tried again: which frames to send once more, the outcomes say."""
        return Pushing(self._connection, stream, frames, parts)

    def add_labels(self, stream: str, labels: Mapping[int, Label]) -> list[LabelOutcome]:
        """Says what is right for frames, by their numbers: a class, by number or name, or values.
        Returns what became of each, in order: one refused takes nothing from the others."""
        return labels_module.add_labels(self._connection, stream, labels)

    def create_stream(self, config: Mapping[str, Any], *,
                      timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Adds a camera stream, configured as an entry of `streams` in the configuration file.
        Raises InvalidArgument, which names each wrong field. No stream is left behind by a call
        that times out."""
        request = stream_service_pb2.CreateStreamRequest(config=_struct(config))
        method = self._connection.streams.CreateStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def update_stream(self, name: str, config: Mapping[str, Any], *, etag: str = "",
                      allow_reset: bool = False, timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Gives a stream another configuration, the whole of it. Raises Aborted if `etag` is given
        and the stream has another by now, and FailedPrecondition where what the model has learned
        would be lost, unless `allow_reset`."""
        request = stream_service_pb2.UpdateStreamRequest(
            stream=name, config=_struct(config), etag=etag, allow_reset=allow_reset)
        method = self._connection.streams.UpdateStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def delete_stream(self, name: str, *, etag: str = "",
                      timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Ends a stream, and returns it as it was then. `etag` as for update_stream()."""
        request = stream_service_pb2.DeleteStreamRequest(stream=name, etag=etag)
        method = self._connection.streams.DeleteStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def learner(self, name: str = "") -> Learner:
        """A stream's learner, to pause, freeze, change or reset. Asks the server nothing yet."""
        return Learner(self._connection, name)

    def checkpoints(self, stream: str = "") -> Checkpoints:
        """A stream's checkpoints, to take, list, go back to, delete and download. Asks the server
        nothing yet."""
        return Checkpoints(self._connection, stream)


def _struct(config: Mapping[str, Any]) -> Struct:
    struct = Struct()
    struct.update(config)
    return struct
