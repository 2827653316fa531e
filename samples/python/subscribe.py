"""Prints what a running Millrace predicts.   subscribe.py [ADDRESS [STREAM]]"""

import sys

import grpc

try:
    from millrace.v1 import prediction_service_pb2, prediction_service_pb2_grpc
except ModuleNotFoundError:
    sys.exit("The stubs are missing: samples/README.md has the command that makes them.")


def mean_flow(flow):
    """The mean motion in pixels of the grid, over all cells: (dx, dy)."""
    numbers = memoryview(flow.data).cast("f")  # dx, dy, dx, dy, ... numpy.frombuffer does it too.
    return [sum(numbers[axis::2]) / (len(numbers) // 2) for axis in (0, 1)]


def show(message):
    prediction = message.prediction
    ratio = prediction.loss / max(prediction.loss_no_motion, 1e-9)  # Below 1: better than no model.
    dx, dy = mean_flow(prediction.flow)
    lost = f"  lost {message.dropped}" if message.dropped else ""
    print(f"frame {prediction.frame_number}  delay {prediction.delay.ToMilliseconds()} ms"
          f"  loss {ratio:.3f} of no motion  mean flow {dx:+.3f} {dy:+.3f} px{lost}", flush=True)


def main(address="127.0.0.1:50051", stream=""):  # The stream may be empty if the server has one.
    request = prediction_service_pb2.SubscribeRequest(stream=stream)
    with grpc.insecure_channel(address) as channel:
        predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for message in predictions.Subscribe(request):
            show(message)


try:
    main(*sys.argv[1:3])
except grpc.RpcError as error:
    hint = " Is `millrace serve` running?" if error.code() == grpc.StatusCode.UNAVAILABLE else ""
    sys.exit(f"{error.code().name}: {error.details()}{hint}")
except KeyboardInterrupt:
    pass
