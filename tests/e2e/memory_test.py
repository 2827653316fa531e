"""A stream whose learner needs too much memory is refused before it allocates any, and the server gives up
a start that its client gives up."""

import os
import re
import tempfile
import unittest

from google.protobuf import json_format, struct_pb2
import grpc
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc
from millrace_testing import millrace_process

# Half a gigabyte more than a server that does nothing.
MAX_MB = 1000
# Of the rest of the start and the next one: 0.2 to 0.4 s, and 6.5 s where it is not given up.
MAX_CPU_S = 1


class MemoryTest(unittest.TestCase):
    def serve(self, memory_gb: float, **sections) -> None:
        # A budget of cores that is no obstacle: one of them counts as said. The stream that is there takes little time.
        self.server = self.enterContext(millrace_process.serve(millrace_process.config(
            streams=[millrace_process.test_stream(frames_per_second=1)],
            budget={"memory_gb": memory_gb, "cores": 1000}, **sections)))
        channel = self.enterContext(grpc.insecure_channel(self.server.grpc))
        self.streams = stream_service_pb2_grpc.StreamServiceStub(channel)

    def create(self, name: str, **keys) -> grpc.Future:
        config = json_format.ParseDict(millrace_process.test_stream(name, **keys), struct_pb2.Struct())
        return self.streams.CreateStream.future(
            stream_service_pb2.CreateStreamRequest(config=config), timeout=millrace_process.PATIENCE_S)

    def max_mb(self) -> float:
        """What the server has taken at most so far."""
        with open(f"/proc/{self.server.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1000

    def cpu_s(self) -> float:
        """What the server has computed so far, on all cores: no other program adds to it."""
        with open(f"/proc/{self.server.process.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def refusal(self, name: str, **keys) -> str:
        call = self.create(name, **keys)
        self.assertEqual(call.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, call.details())
        return call.details()

    def test_a_stream_that_is_too_large_takes_no_memory(self):
        self.serve(memory_gb=1)
        for keys in ({"model": {"input": [2048, 1536]}},
                     {"model": {"input": [1024, 1024], "network": "ndconv"}},
                     {"model": {"task": "regression", "outputs": 1, "input": [1024, 1024], "width": 4096}}):
            said = self.refusal("large", **keys)
            self.assertRegex(said, r"stream 'large': about \d+\.\d GB of memory are needed, and of 1\.0 GB there are "
                                   r"\d+ MB left: 'test' takes \d+ MB")
            self.assertIn("raise budget.memory_gb", said)
        self.assertLess(self.max_mb(), MAX_MB)
        self.create("small").result()

    def test_a_network_of_ones_own_that_is_too_large_is_not_loaded(self):
        self.serve(memory_gb=1, client_sources={"files": True})
        with tempfile.NamedTemporaryFile(suffix=".pt") as network:
            network.truncate(3 * 10**9)  # It takes no room on the disk.
            self.assertIn("about 9.0 GB of memory are needed", self.refusal("large", model={"network": network.name}))
        self.assertLess(self.max_mb(), MAX_MB)

    # Streams start one after the other: the next would come when all layers have been measured.
    def test_a_start_that_its_client_gives_up_is_given_up(self):
        self.serve(memory_gb=16)
        many_layers = {"task": "regression", "outputs": 1, "network": "convolutional", "layers": 256, "width": 4,
                       "input": [48, 48]}
        for model in (many_layers, {"network": "ndconv", "input": [768, 768]}):
            with self.subTest(model=model):
                before = self.cpu_s()
                slow = self.create("slow", model=model)
                millrace_process.wait_for("the start to compute", lambda before=before: self.cpu_s() - before > 0.3)
                self.assertFalse(slow.done())
                begun = self.cpu_s()
                slow.cancel()
                self.create("slow").result()
                self.assertLess(self.cpu_s() - begun, MAX_CPU_S)
                self.streams.DeleteStream(stream_service_pb2.DeleteStreamRequest(stream="slow"))


if __name__ == "__main__":
    unittest.main()
