"""The server lets clients add and change exactly the sources that the configuration's `client_sources` allows."""

import contextlib
import tempfile
import unittest

import millrace
from millrace_testing import millrace_process

GATE = millrace_process.test_stream("gate", frames_per_second=60)


def camera(host: str) -> dict:
    """A stream of a camera at an address without an answer."""
    return {"name": "gate", "source": {"uri": f"rtsp://{host}:9/1"}}


class ClientSourcesTest(unittest.TestCase):
    def client(self, **rules) -> millrace.Client:
        """Of a server without streams."""
        configuration = millrace_process.config(streams=[], client_sources=rules)
        server = self.enterContext(millrace_process.serve(configuration))
        return self.enterContext(millrace.Client(server.grpc))

    @contextlib.contextmanager
    def refused_by(self, key: str):
        with self.assertRaises(millrace.PermissionDenied) as error:
            yield
        self.assertEqual(error.exception.reason, "SOURCE_NOT_ALLOWED")
        self.assertEqual(error.exception.metadata["key"], f"client_sources.{key}")

    def test_cameras_of_its_hosts_and_of_no_others(self):
        client = self.client(hosts=["127.0.0.1"])
        with self.refused_by("hosts"):
            client.create_stream(camera("192.0.2.7"))
        client.create_stream(camera("127.0.0.1"))
        with self.refused_by("hosts"):
            client.update_stream("gate", camera("192.0.2.7"))
        self.assertEqual(client.stream("gate").config, camera("127.0.0.1"))

    def test_schemes_that_it_names_and_no_others(self):
        client = self.client(schemes=["rtsp"])
        with self.refused_by("schemes"):
            client.create_stream(GATE)

    def test_files_of_the_server_which_may_be_wrong(self):
        client = self.client(files=True)
        with self.assertRaises(millrace.NotFound):
            client.create_stream(GATE | {"model": {"weights": "nowhere.bin"}})
        folder = self.enterContext(tempfile.TemporaryDirectory())
        keeps = GATE | {"checkpoints": {"folder": folder}}
        client.create_stream(keeps)
        learner = client.learner("gate")
        millrace_process.wait_for("updates", lambda: min(learner.status().updates) > 300)
        client.delete_stream("gate")  # It leaves a checkpoint behind.
        with self.assertRaises(millrace.FailedPrecondition) as error:
            client.create_stream(keeps | {"model": {"network": "levels"}})
        self.assertIn("another network", error.exception.message)
        self.assertEqual(client.streams(), [])


if __name__ == "__main__":
    unittest.main()
