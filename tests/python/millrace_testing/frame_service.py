"""The fake server's frames: a frame's id selects its outcome."""

from collections.abc import Iterator
from typing import Any

from millrace.v1 import (frame_service_pb2, frame_service_pb2_grpc, label_service_pb2,
                         prediction_pb2, stream_pb2)


class Frames(frame_service_pb2_grpc.FrameServiceServicer):
    """Predicts all frames except those with the ids "drop", "skip" and "refuse"."""

    def __init__(self, server: Any):
        self._server = server

    def Push(self, requests, context) -> Iterator[frame_service_pb2.PushResponse]:
        number = 0
        for index, request in enumerate(requests):
            self._server.asked(request, context)
            if index == 0:
                context.send_initial_metadata(())
            if request.HasField("frame"):
                yield _outcome(request.frame, number)
                number += 1


def _outcome(frame: frame_service_pb2.PushedFrame, number: int) -> frame_service_pb2.PushResponse:
    response = frame_service_pb2.PushResponse(id=frame.id)
    if frame.id == "drop":
        response.dropped = stream_pb2.DROP_REASON_GAP
    elif frame.id == "skip":
        response.skipped.SetInParent()
    elif frame.id == "refuse":
        response.refused.message = "it is no picture"
    else:
        response.frame_number = number
        response.prediction.CopyFrom(prediction_pb2.Prediction(frame_number=number))
        if frame.HasField("label"):
            response.label.frame_number = number
            response.label.result = label_service_pb2.LABEL_RESULT_ADDED
    return response
