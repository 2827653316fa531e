"""Checkpoints are created, listed, restored, deleted and downloaded."""

import datetime
import pathlib
import tempfile
import unittest

import grpc
import millrace
from millrace_testing import checkpoint_service, fake_server

NAME = "checkpoint-000000000009"


class CheckpointsTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        client = self.enterContext(millrace.Client(self.server.address))
        self.checkpoints = client.checkpoints("door")

    def test_one_is_taken(self):
        written = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
        self.assertEqual(
            self.checkpoints.create(),
            millrace.Checkpoint(stream="door", name=NAME, create_time=written, bytes=70, sample=9,
                                score=0.5, kept=True))

    def test_are_listed_newest_first(self):
        self.assertEqual([each.sample for each in self.checkpoints.list()], [9, 4])

    def test_one_is_gone_back_to(self):
        self.assertEqual(self.checkpoints.restore(NAME).name, NAME)
        (request,) = self.server.requests["RestoreCheckpoint"]
        self.assertEqual((request.stream, request.name), ("door", NAME))

    def test_one_is_deleted(self):
        self.checkpoints.delete(NAME)
        (request,) = self.server.requests["DeleteCheckpoint"]
        self.assertEqual((request.stream, request.name), ("door", NAME))

    def test_a_stream_that_keeps_none_is_an_error(self):
        self.server.refuse("CreateCheckpoint",
                           fake_server.Error(grpc.StatusCode.FAILED_PRECONDITION))
        with self.assertRaises(millrace.FailedPrecondition):
            self.checkpoints.create()


class DownloadTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        client = self.enterContext(millrace.Client(self.server.address))
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "copies"
        self.download = lambda name=NAME: client.checkpoints("door").download(name, self.folder)

    def test_files_are_those_of_the_server(self):
        path = self.download()
        self.assertEqual(path, self.folder / NAME)
        files = {each.name: each.read_bytes() for each in path.iterdir()}
        self.assertEqual(files, checkpoint_service.FILES)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_what_is_cut_short_leaves_nothing_behind(self):
        self.server.download_error = fake_server.Error(grpc.StatusCode.DATA_LOSS)
        with self.assertRaises(millrace.DataLoss):
            self.download()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_there_stays(self):
        (self.folder / NAME).mkdir(parents=True)
        with self.assertRaises(FileExistsError):
            self.download()
        self.assertNotIn("DownloadCheckpoint", self.server.requests)

    def test_no_name_leads_out_of_the_folder(self):
        for name in ("", "..", "../other", "/other"):
            with self.subTest(name), self.assertRaises(ValueError):
                self.download(name)
        self.server.files = {"../outside": b""}
        with self.assertRaises(ValueError):
            self.download()
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
