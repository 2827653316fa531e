"""A program pushes the sample video, frame by frame: each frame has one outcome, and the model learns the same
as from the file."""

import datetime
import itertools
import os
import subprocess
import unittest
from collections.abc import Iterator

from millrace import DropReason, SourceState
import millrace
from millrace_testing import client, millrace_process
import numpy as np

VIDEO = str(millrace_process.ROOT / ".deps/video/vtest.avi")
VIDEO_FRAMES = 795
SIDE = 64  # Of the model's input.


def video_frames(count: int = VIDEO_FRAMES, side: int = SIDE) -> Iterator[np.ndarray]:
    command = [os.environ["MILLRACE_VIDEO_FRAMES"], VIDEO, str(side), str(side)]
    with subprocess.Popen(command, cwd=millrace_process.ROOT, stdout=subprocess.PIPE) as process:
        for _ in range(count):
            pixels = process.stdout.read(side * side * 3)
            yield np.frombuffer(pixels, np.uint8).reshape(side, side, 3)
        process.stdout.close()


def pushed(**source) -> dict:
    return {"name": "pushed", "source": {"uri": "push:", **source}}


class PushTest(unittest.TestCase):
    def serve(self, *streams: dict, **sections) -> millrace_process.Server:
        configuration = millrace_process.config(streams=list(streams), **sections)
        return self.enterContext(millrace_process.serve(configuration))

    def test_each_frame_of_a_video_has_an_outcome_and_teaches_as_the_file_does(self):
        # One frame at a time: then what is learned depends on the frames alone, not on when they came.
        server = self.serve(pushed(), {"name": "file", "source": {"uri": VIDEO}},
                            schedule={"kind": "sequential"})
        with millrace.Client(server.grpc) as user:
            outcomes = list(user.push("pushed", video_frames()))
            self.assertEqual([outcome.id for outcome in outcomes],
                             [str(number) for number in range(VIDEO_FRAMES)])
            self.assertEqual(outcomes[0].dropped, DropReason.NO_PREDECESSOR)
            self.assertEqual([outcome.prediction.frame_number for outcome in outcomes[1:]],
                             list(range(1, VIDEO_FRAMES)))
            counts = user.stream("pushed").frames
            self.assertEqual((counts.received, counts.predicted, counts.in_flight),
                             (VIDEO_FRAMES, VIDEO_FRAMES - 1, 0))
            millrace_process.wait_for(
                "the file's end", lambda: user.stream("file").source_state is SourceState.ENDED
                and user.latest("file").frame_number == VIDEO_FRAMES - 1)
            oracle, last = user.latest("file"), outcomes[-1].prediction
            self.assertEqual((last.loss, last.update_count), (oracle.loss, oracle.update_count))
            np.testing.assert_array_equal(last.flow, oracle.flow)

    def test_a_crowd_of_frames_as_from_a_camera_is_accounted_for(self):
        server = self.serve(pushed(as_camera=True, queue=1))
        with millrace.Client(server.grpc) as user:
            outcomes = list(user.push("pushed", video_frames(300), parts=millrace.Parts()))
            self.assertEqual(sorted(int(outcome.id) for outcome in outcomes), list(range(300)))
            counts = user.stream("pushed").frames
            told = [outcome.dropped for outcome in outcomes if outcome.prediction is None]
            for reason in DropReason:
                self.assertEqual(told.count(reason), counts.dropped.get(reason, 0), reason)
            self.assertEqual(counts.received, 300)

    def test_pipelines_of_each_kind_let_go_of_the_last_frames(self):
        schedules = [{"kind": kind, "stages": 2}
                     for kind in ("one_f_one_b_star", "partime", "gpipe", "timeprest", "pipedream_2bw")]
        schedules.append({"kind": "auto", "frames_per_second": 30})
        for schedule in schedules:
            with self.subTest(schedule), millrace_process.serve(millrace_process.config(
                    streams=[pushed()], schedule=schedule)) as server, \
                    millrace.Client(server.grpc) as user:
                outcomes = list(user.push("pushed", video_frames(31), parts=millrace.Parts()))
                self.assertEqual(len(outcomes), 31)

    def test_times_come_back_and_the_next_client_goes_on(self):
        server = self.serve(pushed())
        begin = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
        with millrace.Client(server.grpc) as user:
            for epoch in range(2):
                frames = [millrace.Frame(picture, f"{epoch}/{i}",
                                         begin + datetime.timedelta(milliseconds=100 * i))
                          for i, picture in enumerate(video_frames(5))]
                outcomes = list(user.push("pushed", frames))
                self.assertEqual([outcome.id for outcome in outcomes], [f.id for f in frames])
                for frame, outcome in itertools.islice(zip(frames, outcomes), 1, None):
                    self.assertEqual(outcome.prediction.camera_time, frame.capture_time)
                    self.assertEqual(outcome.prediction.epoch, epoch)
            self.assertIn("no client pushes", user.stream("pushed").source_cause)

    def test_a_client_adds_the_stream_that_it_pushes_to(self):
        server = self.serve()
        with millrace.Client(server.grpc) as user:
            user.create_stream(pushed())
            with user.push("pushed", itertools.cycle(video_frames(10))) as outcomes:
                next(outcomes)
                with self.assertRaises(millrace.FailedPrecondition) as second:
                    next(user.push("pushed", video_frames(1)))
                self.assertEqual(second.exception.reason, "ALREADY_PUSHED")
                user.delete_stream("pushed")
                with self.assertRaises(millrace.Unavailable) as gone:
                    for _ in outcomes:
                        pass
                self.assertEqual(gone.exception.reason, "SOURCE_GONE")

    def test_the_books_of_the_run_balance(self):
        with millrace_process.serve(millrace_process.config(streams=[pushed()])) as server, \
                millrace.Client(server.grpc) as user:
            list(user.push("pushed", video_frames(20)))
        self.assertTrue(client.books_of_summary(server.summary).balance(), server.summary)


if __name__ == "__main__":
    unittest.main()
