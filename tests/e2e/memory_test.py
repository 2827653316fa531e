"""A stream whose learner would take more memory than there is is refused before it takes any, and a start
that its client gives up is given up."""

import re
import unittest

import grpc
import millrace_process
from google.protobuf import json_format, struct_pb2
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc

# Half a gigabyte more than a server that does nothing.
MOST_MB = 1000


class MemoryTest(unittest.TestCase):
    def setUp(self) -> None:
        # A budget of cores that is no obstacle: one of them counts as said.
        self.server = self.enterContext(millrace_process.serve(
            millrace_process.config(budget={"memory_gb": 1, "cores": 1000})))
        channel = self.enterContext(grpc.insecure_channel(self.server.grpc))
        self.streams = stream_service_pb2_grpc.StreamServiceStub(channel)

    def create(self, name: str, **keys) -> grpc.Future:
        config = json_format.ParseDict(millrace_process.test_stream(name, **keys), struct_pb2.Struct())
        return self.streams.CreateStream.future(
            stream_service_pb2.CreateStreamRequest(config=config), timeout=millrace_process.PATIENCE_S)

    def most_mb(self) -> float:
        """What the server has taken at most so far."""
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1000

    def refusal(self, name: str, **keys) -> str:
        call = self.create(name, **keys)
        self.assertEqual(call.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, call.details())
        return call.details()

    def test_a_stream_that_is_too_large_takes_no_memory(self):
        for keys in ({"model": {"input": [2048, 1536]}},
                     {"model": {"input": [1024, 1024], "network": "ndconv"}},
                     {"model": {"task": "regression", "outputs": 1, "input": [1024, 1024], "width": 4096}}):
            said = self.refusal("large", **keys)
            self.assertRegex(said, r"stream 'large': about \d+\.\d GB of memory are needed, and of 1\.0 GB there are "
                                   r"[01]\.\d GB left: 'test' takes 0\.\d GB")
            self.assertIn("raise budget.memory_gb", said)
        self.assertLess(self.most_mb(), MOST_MB)
        self.create("small").result()


if __name__ == "__main__":
    unittest.main()
