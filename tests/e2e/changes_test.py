"""A learner with checkpoints, changed over gRPC while its stream runs: it resumes from its weights, goes
back to a checkpoint, and starts again from the beginning."""

import pathlib
import tempfile
import unittest

from google.protobuf import json_format, struct_pb2
import grpc
from millrace.v1 import (checkpoint_service_pb2, checkpoint_service_pb2_grpc, learner_service_pb2,
                         learner_service_pb2_grpc, stream_service_pb2, stream_service_pb2_grpc)
from millrace_testing import millrace_process


def struct(config: dict) -> struct_pb2.Struct:
    return json_format.ParseDict(config, struct_pb2.Struct())


class Changing(unittest.TestCase):
    """A server with one stream, whose learner writes no checkpoint but at its end and when asked."""

    frames_per_second = 60
    keep = 3

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(folder) / "door"
        self.config = millrace_process.test_stream(
            "door", frames_per_second=self.frames_per_second)
        configuration = millrace_process.config(
            streams=[self.config],
            checkpoints={"folder": folder, "every": 100_000, "keep": self.keep})
        server = self.enterContext(millrace_process.serve(configuration))
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        self.streams = stream_service_pb2_grpc.StreamServiceStub(channel)
        self.learners = learner_service_pb2_grpc.LearnerServiceStub(channel)
        self.checkpoints = checkpoint_service_pb2_grpc.CheckpointServiceStub(channel)

    def stream(self):
        return self.streams.GetStream(stream_service_pb2.GetStreamRequest(stream="door")).stream

    def updates(self) -> int:
        request = learner_service_pb2.GetLearnerRequest(stream="door")
        return min(self.learners.GetLearner(request).learner.updates)

    def take(self) -> str:
        request = checkpoint_service_pb2.CreateCheckpointRequest(stream="door")
        return self.checkpoints.CreateCheckpoint(
            request, timeout=millrace_process.PATIENCE_S).checkpoint.name

    def listed(self) -> list:
        request = checkpoint_service_pb2.ListCheckpointsRequest(stream="door")
        return list(self.checkpoints.ListCheckpoints(request).checkpoints)

    def names(self) -> list[str]:
        return [each.name for each in self.listed()]


class ChangesTest(Changing):
    def test_a_changed_learner_goes_on_from_where_it_was(self):
        millrace_process.wait_for("updates", lambda: self.updates() > 300)
        before = self.stream()
        changed = self.config | {"schedule": {"stages": 1}}
        after = self.streams.UpdateStream(stream_service_pb2.UpdateStreamRequest(
            stream="door", config=struct(changed), etag=before.etag)).stream
        self.assertNotEqual(after.run_id, before.run_id)
        self.assertGreaterEqual(self.updates(), 300)
        self.assertGreaterEqual(after.epoch, before.epoch + 1)

    def test_a_learner_that_gets_another_rate_is_the_same(self):
        before = self.stream()
        changed = self.config | {"model": {"learning_rate": 0.001}, "learning": {"every": 2}}
        after = self.streams.UpdateStream(stream_service_pb2.UpdateStreamRequest(
            stream="door", config=struct(changed), etag=before.etag)).stream
        self.assertEqual(after.run_id, before.run_id)
        learner = self.learners.GetLearner(
            learner_service_pb2.GetLearnerRequest(stream="door")).learner
        self.assertAlmostEqual(learner.learning_rate, 0.001)
        self.assertEqual(learner.policy.every, 2)

    def test_another_network_is_refused_and_the_stream_goes_on(self):
        millrace_process.wait_for("updates", lambda: self.updates() > 300)
        before = self.updates()
        with self.assertRaises(grpc.RpcError) as refused:
            self.streams.UpdateStream(stream_service_pb2.UpdateStreamRequest(
                stream="door", config=struct(self.config | {"model": {"network": "levels"}})))
        self.assertEqual(refused.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertIn("another network", refused.exception.details())
        millrace_process.wait_for("more updates", lambda: self.updates() > before)

    def test_goes_back_to_a_checkpoint_and_sets_newer_ones_aside(self):
        first = self.take()
        second = self.take()
        self.assertEqual(self.names()[:2], [second, first])
        self.checkpoints.RestoreCheckpoint(
            checkpoint_service_pb2.RestoreCheckpointRequest(stream="door", name=first))
        self.assertEqual(self.names(), [first])
        (aside,) = self.folder.glob("restored-*")
        self.assertTrue((aside / second / "manifest.json").exists())
        at_first = int(first.removeprefix("checkpoint-"))
        self.assertLess(self.updates(), int(second.removeprefix("checkpoint-")))
        self.assertGreaterEqual(self.updates(), at_first - 50)
        third = self.take()  # It learns on, and writes on.
        self.assertEqual(self.names(), [third, first])

    def test_a_reset_learner_begins_anew(self):
        self.take()
        self.learners.ResetLearner(learner_service_pb2.ResetLearnerRequest(stream="door"))
        self.assertLess(self.updates(), 100)
        self.assertEqual(self.names(), [])
        self.assertEqual(len(list(self.folder.glob("reset-*/checkpoint-*"))), 2,
                         "the one that was asked for, and that of the end")

    def test_a_checkpoint_that_is_downloaded_is_the_one_that_was_written(self):
        name = self.take()
        files: dict[str, bytes] = {}
        request = checkpoint_service_pb2.DownloadCheckpointRequest(stream="door", name=name)
        for piece in self.checkpoints.DownloadCheckpoint(request):
            files[piece.file] = files.get(piece.file, b"") + piece.data
        self.assertIn("manifest.json", files)
        for file, content in files.items():
            self.assertEqual(content, (self.folder / name / file).read_bytes())


class GoingBackTest(Changing):
    frames_per_second = 200
    keep = 1

    def test_does_not_lose_its_checkpoint_to_the_one_of_the_end(self):
        for _ in range(3):
            self.take()
        for name in self.names():  # As if none had been asked for.
            (self.folder / name / "kept").unlink()
        listed = self.listed()
        best = min(listed, key=lambda each: each.score)
        old = next(each for each in listed[1:] if each.name != best.name)
        self.checkpoints.RestoreCheckpoint(
            checkpoint_service_pb2.RestoreCheckpointRequest(stream="door", name=old.name))
        newest = self.listed()[0]
        self.assertEqual(newest.name, old.name)
        self.assertFalse(newest.kept)
        self.assertGreaterEqual(self.updates(), old.sample - 50)


class LabelsTest(unittest.TestCase):
    def test_a_learner_of_labels_goes_on_and_begins_anew_as_any_other(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        door = millrace_process.test_stream(
            "door", model={"task": "classification", "outputs": 3, "input": [16, 16]})
        server = self.enterContext(millrace_process.serve(
            millrace_process.config(streams=[door], checkpoints={"folder": folder})))
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        streams = stream_service_pb2_grpc.StreamServiceStub(channel)
        learners = learner_service_pb2_grpc.LearnerServiceStub(channel)
        before = streams.GetStream(stream_service_pb2.GetStreamRequest(stream="door")).stream
        shorter = door | {"model": door["model"] | {"window": 32}}
        after = streams.UpdateStream(stream_service_pb2.UpdateStreamRequest(
            stream="door", config=struct(shorter))).stream
        self.assertNotEqual(after.run_id, before.run_id)
        learners.ResetLearner(learner_service_pb2.ResetLearnerRequest(stream="door"))
        anew = streams.GetStream(stream_service_pb2.GetStreamRequest(stream="door")).stream
        self.assertNotEqual(anew.run_id, after.run_id)
        self.assertEqual(list((pathlib.Path(folder) / "door").glob("checkpoint-*")), [])


class WatchersTest(unittest.TestCase):
    def test_are_told_that_the_server_stops(self):
        server = self.enterContext(millrace_process.serve(millrace_process.config()))
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        events = stream_service_pb2_grpc.StreamServiceStub(channel).WatchStreams(
            stream_service_pb2.WatchStreamsRequest())
        next(events)
        millrace_process.stop(server)
        with self.assertRaises(grpc.RpcError) as end:
            list(events)
        self.assertEqual(end.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn("the server stops", end.exception.details())


if __name__ == "__main__":
    unittest.main()
