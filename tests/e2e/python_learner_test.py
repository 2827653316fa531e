"""The Python client pauses, freezes, resumes and changes a running learner, and keeps its weights."""

import itertools
import pathlib
import tempfile
import unittest

from millrace import DropReason, LearnerState, UpdatePolicy, UpdatePolicyKind
import millrace
from millrace_testing import millrace_process


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    """What its files have in them, by name."""
    return {each.name: each.read_bytes() for each in folder.iterdir()}


class LearnerTest(unittest.TestCase):
    def setUp(self):
        configuration = millrace_process.config(streams=[millrace_process.test_stream("door")])
        server = self.enterContext(millrace_process.serve(configuration))
        self.client = self.enterContext(millrace.Client(server.grpc))
        self.learner = self.client.learner("door")
        self.predictions = self.client.predictions("door")
        next(each for each in self.predictions if each.learned_from)

    def frames(self) -> millrace.FrameCounts:
        return self.client.stream("door").frames

    def dropped_as_paused(self) -> int:
        return self.frames().dropped[DropReason.PAUSED]

    def from_now_on(self, count: int) -> list[millrace.Prediction]:
        """This number of predictions of future frames."""
        received = self.frames().received
        later = (each for each in self.predictions if each.frame_number > received)
        return list(itertools.islice(later, count))

    def test_paused_it_drops_its_frames_until_it_is_resumed(self):
        self.assertEqual(self.learner.pause().state, LearnerState.PAUSED)
        millrace_process.wait_for("no frame at work", lambda: self.frames().in_flight == 0)
        predicted, dropped = self.frames().predicted, self.dropped_as_paused()
        millrace_process.wait_for("frames dropped as paused",
                                  lambda: self.dropped_as_paused() > dropped + 5)
        self.assertEqual(self.frames().predicted, predicted)
        self.assertEqual(self.client.stream("door").learner_state, LearnerState.PAUSED)
        self.assertEqual(self.learner.resume().state, LearnerState.LEARNING)
        self.assertTrue(any(each.learned_from for each in self.from_now_on(20)))

    def test_frozen_it_predicts_and_learns_from_nothing_until_it_is_resumed(self):
        self.assertEqual(self.learner.freeze().state, LearnerState.FROZEN)
        self.assertFalse(any(each.learned_from for each in self.from_now_on(10)))
        self.assertEqual(self.learner.status().state, LearnerState.FROZEN)
        self.learner.resume()
        self.assertTrue(any(each.learned_from for each in self.from_now_on(20)))

    def test_a_learning_rate_is_told_back(self):
        self.assertEqual(self.learner.update(learning_rate=0.002).learning_rate, 0.002)
        self.assertEqual(self.learner.status().learning_rate, 0.002)

    def test_a_policy_says_from_which_frames_it_learns(self):
        before = self.learner.status()
        after = self.learner.update(policy=UpdatePolicy(every=3))
        self.assertEqual(after.policy, UpdatePolicy(UpdatePolicyKind.EVERY, every=3))
        self.assertEqual(after.learning_rate, before.learning_rate)
        learned = [each.frame_number for each in self.from_now_on(20) if each.learned_from]
        self.assertGreater(len(learned), 1)
        self.assertTrue(all(later - sooner >= 3 for sooner, later in itertools.pairwise(learned)),
                        learned)

    def test_what_is_wrong_changes_nothing(self):
        before = self.learner.status()
        with self.assertRaises(millrace.InvalidArgument) as error:
            self.learner.update(learning_rate=2, policy=UpdatePolicy(every=-1))
        self.assertEqual([violation.field for violation in error.exception.field_violations],
                         ["learner.learning_rate", "learner.policy"])
        after = self.learner.status()
        self.assertEqual((after.learning_rate, after.policy), (before.learning_rate, before.policy))

    def test_a_watcher_hears_of_it(self):
        events = self.client.watch("door")
        events.wait_for_server()
        self.learner.pause()
        self.learner.resume()
        states = (event.learner_state for event in events
                  if event.kind is millrace.EventKind.LEARNER_STATE)
        self.assertEqual([next(states), next(states)], [LearnerState.PAUSED, LearnerState.LEARNING])


class CheckpointsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        stream = millrace_process.test_stream("door", frames_per_second=60)
        configuration = millrace_process.config(
            streams=[stream], checkpoints={"folder": str(self.folder / "kept"), "every": 100_000})
        server = self.enterContext(millrace_process.serve(configuration))
        self.client = self.enterContext(millrace.Client(server.grpc))

    def test_one_is_taken_copied_gone_back_to_and_deleted(self):
        checkpoints = self.client.checkpoints("door")
        run_id = self.client.stream("door").run_id
        taken = checkpoints.create()
        self.assertTrue(taken.kept)
        self.assertEqual(checkpoints.list(), (taken,))
        copy = checkpoints.download(taken.name, self.folder)
        written = contents(self.folder / "kept/door" / taken.name)
        self.assertTrue(contents(copy).items() <= written.items(), copy)
        self.assertIn("manifest.json", contents(copy))
        self.assertEqual(checkpoints.restore(taken.name), taken)
        self.assertNotEqual(self.client.stream("door").run_id, run_id)
        checkpoints.delete(taken.name)
        with self.assertRaises(millrace.NotFound) as error:
            checkpoints.restore(taken.name)
        self.assertEqual(error.exception.reason, "CHECKPOINT_NOT_FOUND")


if __name__ == "__main__":
    unittest.main()
