"""The way in: one object for all that a server offers."""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, overload

from google.protobuf.struct_pb2 import Struct

from millrace import _labels
from millrace._backoff import Reconnect
from millrace._checkpoints import Checkpoints
from millrace._connection import CHANGE_TIMEOUT_S, Connection
from millrace._events import EventSource, StreamEvent
from millrace._labels import Label, LabelOutcome
from millrace._learner import Learner
from millrace._pictures import Picture, put_picture
from millrace._prediction import Prediction
from millrace._prediction_source import OnStatus, Parts, Policy, PredictionSource
from millrace._pushing import Frame, Pushing
from millrace._status import StreamStatus
from millrace._streams import Stream
from millrace._subscription import Subscription, Subscriptions
from millrace._tls import Tls
from millrace._token import Token, advice_on, source_of
from millrace.v1 import prediction_service_pb2, stream_service_pb2


class Client:
    """A client of one server. A context manager; thread-safe.

    Connects when first used. `token` goes along with every call, or what it returns where it is
    a function, or what `token_file` holds, one line with nothing else, which is read for each;
    without `tls` it can be read on the way. What cannot be a token, a certificate or a key raises
    ValueError, which never repeats it. A call that is not answered within
    `timeout` seconds raises DeadlineExceeded. Every method raises MillraceError when the server
    refuses or cannot be reached. `stream` may be empty where the server has just one.
    """

    def __init__(self, address: str = "127.0.0.1:50051", *,
                 token: Token | None = None, token_file: str | pathlib.Path | None = None,
                 tls: Tls | bool = False, timeout: float = 10.0,
                 reconnect: Reconnect = Reconnect()):
        trust = tls if isinstance(tls, Tls) else Tls() if tls else None
        self._connection = Connection(address, token=source_of(token, token_file),
                                      token_advice=advice_on(token, token_file), tls=trust,
                                      timeout=timeout)
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
        """A stream's newest prediction, with all arrays if `parts` does not say which. Its `age`
        says how old it is, its `status` what the camera does. Raises Unavailable before the
        first."""
        request = prediction_service_pb2.GetLatestRequest(
            stream=name, parts=None if parts is None else parts.message())
        answer = self._connection.ask(self._connection.predictions.GetLatest, request)
        status = StreamStatus.of(answer.status) if answer.HasField("status") else None
        return Prediction(message=answer.prediction, status=status)

    @overload
    def predict(self, stream: str, pictures: Sequence[Picture], *, parts: Parts | None = None,
                timeout: float | None = None) -> Prediction: ...

    @overload
    def predict(self, stream: str, *, samples: Sequence[Sequence[Picture]],
                parts: Parts | None = None, timeout: float | None = None) -> list[Prediction]: ...

    def predict(self, stream: str, pictures: Sequence[Picture] | None = None, *,
                samples: Sequence[Sequence[Picture]] | None = None, parts: Parts | None = None,
                timeout: float | None = None) -> Prediction | list[Prediction]:
        """What a stream's model, as it is now, says of pictures of your own, the oldest first: two
        of a stream of optical flow, three where it predicts the next frame, one where it learns
        from labels. Nothing is learned from them. `samples` are several of such `pictures`, 64 at
        most: the predictions come in their order. Raises InvalidArgument, which names each wrong
        sample by its number. `parts` as for latest(); `timeout` is the client's unless given."""
        if (pictures is None) == (samples is None):
            raise ValueError("give either pictures, for one prediction, or samples, for several")
        request = prediction_service_pb2.PredictRequest(
            stream=stream, parts=None if parts is None else parts.message())
        for picture in pictures or ():
            put_picture(picture, request.pictures.add())
        for sample in samples or ():
            message = request.samples.add()
            for picture in sample:
                put_picture(picture, message.pictures.add())
        if samples is not None and not request.samples:
            return []
        answer = self._connection.ask(self._connection.predictions.Predict, request, timeout)
        if samples is None:
            return Prediction(message=answer.prediction)
        return [Prediction(message=message) for message in answer.predictions]

    def predictions(self, stream: str = "", *, policy: Policy = Policy.DROP_OLDEST, depth: int = 0,
                    parts: Parts | None = None, on_status: OnStatus | None = None,
                    reconnect: Reconnect | None = None) -> Subscription[Prediction]:
        """Every prediction made from now on, until the stream ends.

        One who reads slowly loses some by the `policy`, of which `depth` may wait, 1 to 256 (0:
        16); Prediction.dropped counts them. Goes on after a lost connection where it was, if the
        server still knows that place; Prediction.restarted says if not. `parts` as for latest().

        A camera that is away makes none: the logger "millrace" then gets a warning that says why.
        `on_status`, where it is given, is called instead: with a StreamStatus at the start, at
        each change, and every ten seconds without a prediction. It runs on the thread that
        iterates, which raises what it raises.
        """
        request = prediction_service_pb2.SubscribeRequest(
            stream=stream, policy=f"DELIVERY_POLICY_{policy.name}", depth=depth, status=True,
            parts=None if parts is None else parts.message())
        source = PredictionSource(self._connection, request, on_status)
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
        return _labels.add_labels(self._connection, stream, labels)

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
