"""Runs of `millrace serve` that end: by themselves, by a signal, or before they begin."""

import pathlib
import signal
import socket
import tempfile
import unittest

from millrace_testing import client, millrace_process

VIDEO = str(millrace_process.ROOT / ".deps/video/vtest.avi")
VIDEO_FRAMES = 795
REASONS = {"queue_full", "no_predecessor", "gap", "rejected", "shutdown", "paused", "ranks_lost"}


def street(**source) -> dict:
    """The sample video, seen by a small network."""
    return millrace_process.config(streams=[{"name": "street", "source": {"uri": VIDEO, **source}}])


class RunToEndTest(unittest.TestCase):
    def assert_summary_is_right(self, summary: dict) -> None:
        """The books of the whole run, and every figure that a reader may ask for."""
        self.assertTrue(client.books_of_summary(summary).balance(), summary)
        self.assertEqual(summary["in_flight"], 0)
        self.assertEqual(set(summary["dropped"]), REASONS)
        self.assertGreater(summary["rate_in"], 0)
        self.assertGreater(summary["rate_out"], 0)
        self.assertLessEqual(summary["delay_ms"]["p50"], summary["delay_ms"]["p99"])
        self.assertAlmostEqual(summary["ratio_last_200"], summary["loss"] / summary["loss_no_motion"])

    def test_a_file_is_learned_from_frame_by_frame_to_its_end(self):
        end = millrace_process.serve_to_end(street())
        self.assertEqual(end.code, 0, end.output)
        self.assert_summary_is_right(end.summary)
        self.assertEqual(end.summary["frames_received"], VIDEO_FRAMES)
        self.assertEqual(end.summary["predicted"], VIDEO_FRAMES - 1)
        self.assertEqual(end.summary["dropped"]["no_predecessor"], 1)

    def test_the_next_frame_is_foretold(self):
        configuration = street(loop=True, as_camera=True)
        configuration["model"]["task"] = "next_frame"
        with millrace_process.serve(configuration) as server, \
                client.Subscriber(server.grpc) as subscriber:
            subscriber.wait_for_predictions(5)
            prediction = subscriber.predictions[-1]
            millrace_process.stop(server, signal.SIGTERM)
        height, width = prediction.grid.height, prediction.grid.width
        self.assertEqual(list(prediction.next_picture.shape), [height, width, 3])
        self.assertEqual(len(prediction.next_picture.data), height * width * 3)
        self.assert_summary_is_right(server.summary)
        self.assertGreaterEqual(server.summary["dropped"]["no_predecessor"], 2)

    def test_a_looped_camera_ends_after_the_frames_asked_for(self):
        end = millrace_process.serve_to_end(street(loop=True, as_camera=True), "--frames", "30")
        self.assertEqual(end.code, 0, end.output)
        self.assert_summary_is_right(end.summary)
        # Frames inside the pipeline at the end still get their predictions.
        self.assertGreaterEqual(end.summary["predicted"], 30)
        self.assertIn(f"street: {end.summary['predicted']} predictions", end.output)

    def test_every_round_of_a_loop_is_an_epoch(self):
        end = millrace_process.serve_to_end(street(loop=True), "--frames", str(VIDEO_FRAMES))
        self.assertEqual(end.code, 0, end.output)
        self.assert_summary_is_right(end.summary)
        self.assertEqual(end.summary["dropped"]["no_predecessor"], 2)
        self.assertEqual(end.summary["dropped"]["queue_full"], 0)

    def test_signals_end_it_in_good_order(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name), millrace_process.serve(
                    street(loop=True, as_camera=True)) as server, \
                    client.Subscriber(server.grpc) as subscriber:
                subscriber.wait_for_predictions(5)
                millrace_process.stop(server, number)
                self.assertLess(server.stop_s, millrace_process.stop_limit_s())
            self.assert_summary_is_right(server.summary)

    def test_a_port_in_use_is_named(self):
        for key in ("grpc_port", "http_port", "metrics_port"):
            with self.subTest(key), socket.create_server(("127.0.0.1", 0)) as taken:
                configuration = street(loop=True, as_camera=True)
                port = taken.getsockname()[1]
                configuration["listen"][key] = port
                end = millrace_process.serve_to_end(configuration)
                self.assertEqual(end.code, 1, end.output)
                self.assertIn(f"127.0.0.1:{port}", end.output)
                self.assertIn(key, end.output)

    def test_a_wrong_configuration_is_told_with_its_place(self):
        with tempfile.TemporaryDirectory(prefix="millrace.") as folder:
            path = pathlib.Path(folder) / "wrong.yaml"
            path.write_text("version: 1\nstreams:\n  - name: street\n    sauce: {uri: 'test:'}\n")
            end = millrace_process.run("serve", "--config", str(path))
        self.assertEqual(end.returncode, 2, end.stderr)
        self.assertIn(f"{path}:4:5: ", end.stderr)
        self.assertIn("sauce", end.stderr)

    def test_a_missing_configuration_is_told(self):
        end = millrace_process.run("serve", "--config", "/nowhere/millrace.yaml")
        self.assertEqual(end.returncode, 2, end.stderr)
        self.assertIn("/nowhere/millrace.yaml", end.stderr)

    def test_a_missing_video_is_told(self):
        configuration = street()
        configuration["streams"][0]["source"]["uri"] = "/nowhere/video.avi"
        end = millrace_process.serve_to_end(configuration)
        self.assertNotEqual(end.code, 0)
        self.assertIn("/nowhere/video.avi", end.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
