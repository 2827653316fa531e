"""A server's learned weights outlive it, after any kind of end."""

import json
import pathlib
import signal
import tempfile
import unittest

from millrace_testing import client, millrace_process

# So few frames that a test sees several checkpoints within seconds: weights prove good over a window of
# a hundred predictions, and a copy is taken every hundredth.
EVERY = 100


def damage(checkpoint: pathlib.Path) -> pathlib.Path:
    """Flips a bit of one of its files, which is returned."""
    file = checkpoint / "stage-1.safetensors"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return file


class CheckpointsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        self.stream = self.folder / "street"

    def configuration(self) -> dict:
        return millrace_process.config(
            streams=[millrace_process.test_stream("street", frames_per_second=200)],
            checkpoints={"folder": str(self.folder), "every": EVERY})

    def checkpoints(self) -> list[pathlib.Path]:
        """The complete checkpoints, the oldest first."""
        return sorted(path.parent for path in self.stream.glob("*/manifest.json"))

    def learn(self, how_many: int) -> None:
        """Serves until this number of checkpoints is written, and kills the server."""
        with millrace_process.start(self.configuration()) as (process, _):
            server = millrace_process.stands(process)
            millrace_process.wait_for("checkpoints", lambda: client.checkpoints_written(server) >= how_many)
            process.send_signal(signal.SIGKILL)
            process.wait()

    def resumes_after(self) -> int:
        """The number of frames after which a server reports that it resumes; 0: it starts from the beginning."""
        with millrace_process.serve(self.configuration()) as server:
            self.log = "".join(server.output)
        return client.resumed_after(self.log)

    def test_a_killed_server_goes_on_where_its_newest_checkpoint_was(self):
        self.assertEqual(self.resumes_after(), 0)
        self.learn(how_many=2)
        newest = int(self.checkpoints()[-1].name.removeprefix("checkpoint-"))
        self.assertEqual(self.resumes_after(), newest + 1)

    def test_a_server_that_is_stopped_writes_a_last_one(self):
        with millrace_process.serve(self.configuration()) as server, \
                client.Subscriber(server.grpc) as subscriber:
            subscriber.wait_for_predictions(20)
        self.assertEqual(self.resumes_after(), server.summary["predicted"])

    def test_the_next_server_numbers_on(self):
        newest = None
        for epoch in range(3):
            with millrace_process.serve(self.configuration()) as server, \
                    client.Subscriber(server.grpc) as subscriber:
                subscriber.wait_for_predictions(20)
                (shown,) = json.loads(client.get(f"{server.page}/api/streams")[1])["streams"]
                self.assertEqual(shown["source"]["epoch"], epoch)
            predictions = subscriber.predictions
            self.assertEqual({prediction.epoch for prediction in predictions}, {epoch})
            if newest is not None:
                self.assertGreater(predictions[0].frame_number, newest)
            self.assertLess(predictions[0].delay_frames, server.summary["frames_received"])
            newest = predictions[-1].frame_number

    def test_a_damaged_checkpoint_is_passed_over_and_named(self):
        self.learn(how_many=2)
        before, newest = self.checkpoints()[-2:]
        file = damage(newest)
        self.assertEqual(self.resumes_after(), int(before.name.removeprefix("checkpoint-")) + 1)
        self.assertRegex(self.log, rf"warn.* stream 'street': {newest.name} is damaged \({file} .*; "
                                   rf"the model resumes from {before.name}\n")

    def test_where_none_is_whole_the_model_begins_anew_and_they_are_kept(self):
        self.learn(how_many=2)
        damaged = self.checkpoints()
        for checkpoint in damaged:
            damage(checkpoint)
        self.assertEqual(self.resumes_after(), 0)
        (aside,) = self.stream.glob("damaged-*")
        said = "; ".join(rf"{checkpoint.name} is damaged \([^;]*\)" for checkpoint in reversed(damaged))
        self.assertRegex(self.log, rf"warn.* stream 'street': {said}; set aside in {aside}; "
                                   r"the model starts from /.*/refine-start.safetensors\n")
        self.learn(how_many=4)
        self.assertEqual(sorted(path.name for path in aside.iterdir()), [path.name for path in damaged])

    def test_two_servers_do_not_share_a_folder(self):
        with millrace_process.serve(self.configuration()):
            second = millrace_process.serve_to_end(self.configuration())
        self.assertEqual(second.code, 1, second.output)
        self.assertIn(f"the folder {self.stream} is in use by another stream or server", second.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
