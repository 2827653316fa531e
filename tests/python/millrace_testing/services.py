"""The services of the fake server: each records its requests, and answers with them."""

from collections.abc import Iterator
from typing import Any

import grpc

from millrace.v1 import (label_service_pb2, label_service_pb2_grpc, learner_service_pb2,
                         learner_service_pb2_grpc, prediction_pb2, prediction_service_pb2,
                         prediction_service_pb2_grpc, stream_pb2, stream_service_pb2,
                         stream_service_pb2_grpc)


class Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Sends the test's predictions."""

    def __init__(self, server: Any):
        self._server = server

    def Subscribe(self, request, context) -> Iterator[prediction_service_pb2.SubscribeResponse]:
        self._server.asked(request, context)
        life, dropped_total = self._server.life, 0
        predictions = life.after(self._begin(request, context), context)
        context.send_initial_metadata(())
        for number, dropped, fields in predictions:
            dropped_total += dropped
            status = fields.get("status")
            yield prediction_service_pb2.SubscribeResponse(
                prediction=None if status else _prediction(number, fields), status=status,
                dropped=dropped, dropped_total=dropped_total, run_id=life.run_id, sequence=number)

    def GetLatest(self, request, context) -> prediction_service_pb2.GetLatestResponse:
        self._server.asked(request, context)
        number = self._server.life.newest()
        status = prediction_service_pb2.StreamStatus(
            stream="door", source_state=stream_pb2.SOURCE_STATE_STREAMING,
            prediction_age={"seconds": 2})
        return prediction_service_pb2.GetLatestResponse(prediction=_prediction(number, {}),
                                                        status=status)

    def Predict(self, request, context) -> prediction_service_pb2.PredictResponse:
        """For several samples, each prediction's loss is its index."""
        self._server.asked(request, context)
        if not request.samples:
            return prediction_service_pb2.PredictResponse(prediction=_prediction(0, {}))
        return prediction_service_pb2.PredictResponse(
            predictions=[_prediction(0, {"loss": number})
                         for number in range(len(request.samples))])

    def _begin(self, request, context) -> int:
        if not request.HasField("resume"):
            return 0  # Unlike the real server: earlier predictions count.
        if request.resume.run_id != self._server.life.run_id:
            context.abort(grpc.StatusCode.OUT_OF_RANGE, "another run")
        return request.resume.sequence


def _prediction(number: int, fields: dict) -> prediction_pb2.Prediction:
    return prediction_pb2.Prediction(**{"stream": "door", "frame_number": number, **fields})


class Streams(stream_service_pb2_grpc.StreamServiceServicer):
    """Has one stream, `door`; created and updated streams have the requested configuration."""

    def __init__(self, server: Any):
        self._server = server

    def ListStreams(self, request, context) -> stream_service_pb2.ListStreamsResponse:
        self._server.asked(request, context)
        return stream_service_pb2.ListStreamsResponse(streams=[stream_pb2.Stream(name="door")])

    def GetStream(self, request, context) -> stream_service_pb2.GetStreamResponse:
        self._server.asked(request, context)
        return stream_service_pb2.GetStreamResponse(stream=stream_pb2.Stream(name=request.stream))

    def CreateStream(self, request, context) -> stream_service_pb2.CreateStreamResponse:
        self._server.asked(request, context)
        stream = stream_pb2.Stream(name=request.config["name"], etag="1", config=request.config)
        return stream_service_pb2.CreateStreamResponse(stream=stream)

    def UpdateStream(self, request, context) -> stream_service_pb2.UpdateStreamResponse:
        self._server.asked(request, context)
        stream = stream_pb2.Stream(name=request.stream, etag="2", config=request.config)
        return stream_service_pb2.UpdateStreamResponse(stream=stream)

    def DeleteStream(self, request, context) -> stream_service_pb2.DeleteStreamResponse:
        self._server.asked(request, context)
        stream = stream_pb2.Stream(name=request.stream)
        return stream_service_pb2.DeleteStreamResponse(stream=stream)

    def WatchStreams(self, request, context) -> Iterator[stream_service_pb2.WatchStreamsResponse]:
        self._server.asked(request, context)
        exists = stream_service_pb2.StreamEvent(
            stream="door", kind=stream_service_pb2.STREAM_EVENT_KIND_EXISTS)
        events = self._server.events.after(self._server.events.newest(), context)
        yield stream_service_pb2.WatchStreamsResponse(event=exists)
        for _, dropped, fields in events:
            yield stream_service_pb2.WatchStreamsResponse(
                event=stream_service_pb2.StreamEvent(stream="door", **fields), dropped=dropped)


class Labels(label_service_pb2_grpc.LabelServiceServicer):
    """Accepts the labels of even frames."""

    def __init__(self, server: Any):
        self._server = server

    def AddLabels(self, request, context) -> label_service_pb2.AddLabelsResponse:
        self._server.asked(request, context)
        return label_service_pb2.AddLabelsResponse(
            outcomes=[_outcome(label.frame_number) for label in request.labels])


def _outcome(frame_number: int) -> label_service_pb2.LabelOutcome:
    if frame_number % 2:
        return label_service_pb2.LabelOutcome(
            frame_number=frame_number, result=label_service_pb2.LABEL_RESULT_TOO_LATE,
            message="it is odd")
    return label_service_pb2.LabelOutcome(frame_number=frame_number,
                                          result=label_service_pb2.LABEL_RESULT_ADDED)


def _learner_method(name: str, state: int):
    """A method that answers with a learner in that state, changed as requested."""
    response = getattr(learner_service_pb2, f"{name}LearnerResponse")

    def method(self, request, context):
        self._server.asked(request, context)
        learner = learner_service_pb2.Learner(state=state, learning_rate_share=0.5,
                                              updates=[3, 2], roll_backs=1)
        if name == "Update":
            learner.MergeFrom(request.learner)
        else:
            learner.stream = request.stream
        return response(learner=learner)

    return method


class Learners(learner_service_pb2_grpc.LearnerServiceServicer):
    """Each call answers with a learner in the requested state."""

    def __init__(self, server: Any):
        self._server = server

    GetLearner = _learner_method("Get", stream_pb2.LEARNER_STATE_LEARNING)
    UpdateLearner = _learner_method("Update", stream_pb2.LEARNER_STATE_LEARNING)
    PauseLearner = _learner_method("Pause", stream_pb2.LEARNER_STATE_PAUSED)
    ResumeLearner = _learner_method("Resume", stream_pb2.LEARNER_STATE_LEARNING)
    FreezeLearner = _learner_method("Freeze", stream_pb2.LEARNER_STATE_FROZEN)
    ResetLearner = _learner_method("Reset", stream_pb2.LEARNER_STATE_LEARNING)
