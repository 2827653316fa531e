"""The entry point: one object for all services of a server."""

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

    Connects on first use. Every call sends a token: `token`, its result if it is a function, or the
    content of `token_file`. That file has one line, and is read for each call. Without `tls` the
    token crosses the network in plain text. An invalid token, certificate or key raises ValueError,
    whose message never repeats it. A call without an answer within `timeout` seconds raises
    DeadlineExceeded. Every method raises MillraceError if the server refuses the call or cannot be
    reached. `stream` may be empty if the server has just one.
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
        """One camera stream. Raises NotFound, naming the existing streams."""
        request = stream_service_pb2.GetStreamRequest(stream=name)
        return Stream(self._connection.ask(self._connection.streams.GetStream, request).stream)

    def latest(self, name: str = "", *, parts: Parts | None = None) -> Prediction:
        """A stream's newest prediction, with all arrays unless `parts` selects some. Its `age` is
        the time since it was made; its `status` is the stream's current status. Raises Unavailable
        before the first prediction."""
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
        """The current model's prediction for your own pictures, the oldest first. Optical flow
        needs two, predicting the next frame needs three, learning from labels needs one. The model
        learns nothing from them. `samples` is a list of such `pictures`, at most 64; the
        predictions have the same order. Raises InvalidArgument, which names each wrong sample by
        its number. `parts` as for latest(); `timeout` overrides the client's."""
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
        """Every prediction from now on, until the stream ends.

        A slow reader loses predictions according to `policy`; `depth` predictions may wait, 1 to
        256 (0: 16). Prediction.dropped counts the lost ones. After a lost connection it resumes
        after the last prediction, if the server still knows it; otherwise Prediction.restarted is
        true. `parts` as for latest().

        A camera that is away makes no predictions: the logger "millrace" then gets a warning with
        the reason. If `on_status` is given, it is called instead: with a StreamStatus at the start,
        at each change, and every ten seconds without a prediction. It runs on the iterating thread,
        and its exceptions reach that thread.
        """
        request = prediction_service_pb2.SubscribeRequest(
            stream=stream, policy=f"DELIVERY_POLICY_{policy.name}", depth=depth, status=True,
            parts=None if parts is None else parts.message())
        source = PredictionSource(self._connection, request, on_status)
        return self._subscriptions.add(Subscription(source, reconnect or self._reconnect))

    def watch(self, stream: str = "", *,
              reconnect: Reconnect | None = None) -> Subscription[StreamEvent]:
        """The events of one stream, or of all: first an EXISTS for each existing stream. Starts
        again after a lost connection (StreamEvent.restarted). Ends when the one stream is
        deleted."""
        source = EventSource(self._connection, stream)
        return self._subscriptions.add(Subscription(source, reconnect or self._reconnect))

    def push(self, stream: str, frames: Iterable[Frame | Picture], *,
             parts: Parts | None = None) -> Pushing:
        """Sends frames to a stream whose `source.uri` is `push:`, and iterates over their outcomes:
        a prediction, or the reason why there is none. An array is sent as a frame whose id is its
        index in `frames`, from 0. Only one client at a time may push to a stream:
        FailedPrecondition for others. `parts` as for latest(). It is not retried: the outcomes show
        which frames to send again."""
        return Pushing(self._connection, stream, frames, parts)

    def add_labels(self, stream: str, labels: Mapping[int, Label]) -> list[LabelOutcome]:
        """Sends labels of frames, keyed by frame number: a class, by number or name, or values.
        Returns the outcomes in order; a refused label does not affect the others."""
        return _labels.add_labels(self._connection, stream, labels)

    def create_stream(self, config: Mapping[str, Any], *,
                      timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Adds a camera stream, configured as an entry of `streams` in the configuration file.
        Raises InvalidArgument, which names each wrong field. A call that times out leaves no
        stream."""
        request = stream_service_pb2.CreateStreamRequest(config=_struct(config))
        method = self._connection.streams.CreateStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def update_stream(self, name: str, config: Mapping[str, Any], *, etag: str = "",
                      allow_reset: bool = False, timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Replaces a stream's whole configuration. Raises Aborted if `etag` is given and is no
        longer the stream's, and FailedPrecondition if learned weights would be lost, unless
        `allow_reset`."""
        request = stream_service_pb2.UpdateStreamRequest(
            stream=name, config=_struct(config), etag=etag, allow_reset=allow_reset)
        method = self._connection.streams.UpdateStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def delete_stream(self, name: str, *, etag: str = "",
                      timeout: float = CHANGE_TIMEOUT_S) -> Stream:
        """Ends a stream, and returns its last state. `etag` as for update_stream()."""
        request = stream_service_pb2.DeleteStreamRequest(stream=name, etag=etag)
        method = self._connection.streams.DeleteStream
        return Stream(self._connection.ask(method, request, timeout).stream)

    def learner(self, name: str = "") -> Learner:
        """A stream's learner, to pause, freeze, change or reset. Makes no call yet."""
        return Learner(self._connection, name)

    def checkpoints(self, stream: str = "") -> Checkpoints:
        """A stream's checkpoints, to create, list, restore, delete and download. Makes no call
        yet."""
        return Checkpoints(self._connection, stream)


def _struct(config: Mapping[str, Any]) -> Struct:
    struct = Struct()
    struct.update(config)
    return struct
