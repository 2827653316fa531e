"""Something foreign never returns: a pipeline of GStreamer, or a user's network. Other streams are added, changed and
deleted meanwhile, the camera is tried again, and SIGTERM ends the server with the last checkpoints written."""

import os
import pathlib
import signal
import tempfile
import unittest
from unittest import mock

from google.protobuf import json_format, struct_pb2
import grpc
import millrace
from debian_pytorch import in_pytorch
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera

# A network that never answers from its fifth call on: it is loaded and tried, and hangs while it is measured.
HANGS = """
import torch

class Hangs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv2d(6, 2, 3, padding=1)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls.add_(1)
        while bool(self.calls > {calls}):
            x = x + 0
        return self.layer(x)
"""
# PyTorch reads the source of what it compiles, so the class is in a file.
NETWORK = """
import hangs, torch
torch.jit.script(torch.nn.Sequential(hangs.Hangs(), torch.nn.Conv2d(2, 2, 3, padding=1))).save('hangs.pt')"""
# What `millrace serve` ends with if it was asked to end and something hangs.
ENDED_AT_ONCE = 128 + signal.SIGTERM


class HangingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))

    def config(self, *more: dict, **sections) -> dict:
        """With a stream that learns. Only its last checkpoint is written: none comes before the server's end."""
        good = millrace_process.test_stream(
            "good", frames_per_second=200, checkpoints={"folder": str(self.folder / "learned"), "every": 10**9})
        return millrace_process.config(streams=[good, *more], client_sources={"files": True}, **sections)

    def checkpoints(self) -> list[pathlib.Path]:
        return list((self.folder / "learned").glob("*/*/manifest.json"))

    def network(self, calls: int) -> str:
        (self.folder / "hangs.py").write_text(HANGS.format(calls=calls))
        in_pytorch(NETWORK, cwd=self.folder)
        return str(self.folder / "hangs.pt")

    def await_learning(self, server: millrace_process.Server) -> None:
        with client.Subscriber(server.grpc, "good") as subscriber:
            subscriber.wait_for_predictions(150)  # Enough to prove that the weights are good.

    def test_a_pipeline(self):
        hangs = self.folder / "hangs"
        environment = {"GST_PLUGIN_PATH": os.environ["MILLRACE_HANGING_DECODER"],
                       "GST_REGISTRY": str(self.folder / "registry"),
                       "MILLRACE_TEST_HANGS": str(hangs)}
        with mock.patch.dict(os.environ, environment), \
                RtspCamera("--width", "64", "--height", "64", "--fps", "10", "--gop", "5") as camera:
            gate = {"name": "gate", "source": {"uri": camera.url, "isolate": False, "backoff_ms": [1, 20]}}
            with millrace_process.serve(self.config(gate)) as server:
                def hanging() -> float:
                    return client.sums(client.get(server.metrics)[1])["millrace_ingest_pipelines_hanging"]

                with client.Subscriber(server.grpc, "gate") as subscriber:
                    subscriber.wait_for_predictions(1)
                    hangs.touch()
                    camera.kill()
                    millrace_process.wait_for("a pipeline to be left behind", lambda: hanging() == 1)
                    await_line(server.output, "error stream 'gate': its pipeline hangs in GStreamer and is left behind")
                    # While it hangs, nothing else does.
                    with millrace.Client(server.grpc) as control:
                        control.create_stream(millrace_process.test_stream("other"))
                        control.delete_stream("other")
                    epoch = subscriber.epoch()
                    camera.come_back()
                    subscriber.wait_for_predictions(1, epoch_above=epoch)
                with millrace.Client(server.grpc) as control:
                    control.delete_stream("gate")
                millrace_process.wait_for("the second one", lambda: hanging() == 2)
                self.await_learning(server)
                # Within its limit, and well (serve() checks both), although two pipelines hang.
                millrace_process.stop(server)
        self.assertEqual(len(self.checkpoints()), 1)

    def test_a_network_of_a_client(self):
        with millrace_process.start(self.config()) as (process, _):
            server = millrace_process.stands(process)
            streams = stream_service_pb2_grpc.StreamServiceStub(
                self.enterContext(grpc.insecure_channel(server.grpc)))

            def create(name: str, **model) -> grpc.Future:
                config = json_format.ParseDict(
                    millrace_process.test_stream(name, frames_per_second=1, model=model), struct_pb2.Struct())
                return streams.CreateStream.future(stream_service_pb2.CreateStreamRequest(config=config),
                                                   timeout=millrace_process.PATIENCE_S)

            stuck = create("stuck", network=self.network(calls=4))
            await_line(server.output, "stuck: measuring how fast")
            create("other").result()
            streams.DeleteStream(stream_service_pb2.DeleteStreamRequest(stream="other"))
            self.assertFalse(stuck.done())
            await_line(server.output, "stream 'stuck': its start has taken half a minute")
            self.await_learning(server)
            self.assertEqual(self.checkpoints(), [])
            code, _ = millrace_process.end(process)
            await_line(server.output, "something hangs: the server has not ended within 12 s")
        self.assertEqual(code, ENDED_AT_ONCE)
        self.assertEqual(len(self.checkpoints()), 1)

    def test_a_network_of_the_file(self):
        stuck = millrace_process.test_stream("stuck", model={"network": self.network(calls=4)})
        with millrace_process.start(self.config(stuck)) as (process, _):
            for line in process.stdout:  # No port is open yet.
                if "stuck: measuring how fast" in line:
                    break
            # A prediction of this network takes a few milliseconds: enough of them for weights to prove good.
            millrace_process.wait_for("learning", lambda: cpu_s_of_stages(process.pid) > 3)
            self.assertEqual(self.checkpoints(), [])
            code, _ = millrace_process.end(process)
        self.assertEqual(code, ENDED_AT_ONCE)
        self.assertEqual(len(self.checkpoints()), 1)


def await_line(output: list[str], text: str) -> None:
    millrace_process.wait_for(f"the line '{text}'", lambda: any(text in line for line in output))


def cpu_s_of_stages(pid: int) -> float:
    """What the threads of the stages have computed."""
    ticks = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name, fields = (task / "stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
        if name.startswith("stage"):
            ticks += sum(int(field) for field in fields.split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main()
