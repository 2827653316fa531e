"""Whether a camera fits depends on the devices, not on their present load: beside learners that keep every
core busy it costs the same as alone, and the same request gets the same answer twice."""

import sys
import unittest

from google.protobuf import json_format, struct_pb2
import grpc
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc
from millrace_testing import millrace_process

# High enough that less than the camera takes is still a budget (0.1 cores) on a fast machine.
RATE = 40
CAMERA = millrace_process.test_stream("gate", frames_per_second=RATE, schedule={"stages": 1},
                                      model={"input": [128, 128]})
# Has a place in the budget, so that the camera is not alone, which would always fit.
SMALL = millrace_process.test_stream("door", frames_per_second=1)
# As fast as they learn: they take all there is, and are not counted.
BUSY = [{"name": name, "source": {"uri": str(millrace_process.ROOT / ".deps/video/vtest.avi"), "loop": True}} for name in ("yard", "street")]
# How far a cost may lie from that on an idle machine.
WITHIN = 0.35


class BudgetTest(unittest.TestCase):
    def serve(self, streams: list[dict], cores: float) -> None:
        """Replaces the running server."""
        self.doCleanups()
        server = self.enterContext(millrace_process.serve(
            millrace_process.config(streams=streams, budget={"cores": cores})))
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        self.streams = stream_service_pb2_grpc.StreamServiceStub(channel)

    def cores_taken(self) -> float:
        """Adds the camera, and deletes it again. By what its stages are said to cost."""
        config = json_format.ParseDict(CAMERA, struct_pb2.Struct())
        made = self.streams.CreateStream(stream_service_pb2.CreateStreamRequest(config=config)).stream
        self.streams.DeleteStream(stream_service_pb2.DeleteStreamRequest(stream="gate"))
        return RATE * sum(cost.ToTimedelta().total_seconds() for stage in made.schedule.stages
                          for cost in (stage.forward_cost, stage.backward_cost, stage.update_cost))

    def refusal(self) -> str:
        with self.assertRaises(grpc.RpcError) as refused:
            self.cores_taken()
        self.assertEqual(refused.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        return refused.exception.details()

    def test_the_same_request_gets_the_same_answer_beside_busy_learners(self):
        # Twice: the speed of a virtual machine changes.
        self.serve([SMALL], cores=100)
        alone = [self.cores_taken() for _ in range(2)]
        min_cores, max_cores = (1 - WITHIN) * min(alone), (1 + WITHIN) * max(alone)
        self.serve([SMALL, *BUSY], cores=max_cores)
        taken = [self.cores_taken() for _ in range(2)]
        print(f"cores: {alone} alone, {taken} beside busy learners", file=sys.stderr)
        for cores in taken:
            self.assertGreater(cores, min_cores)
            self.assertLess(cores, max_cores)
        self.serve([SMALL, *BUSY], cores=min_cores)
        for _ in range(2):
            self.assertIn(f"cores are needed at {RATE} frames a second", self.refusal())


if __name__ == "__main__":
    unittest.main()
