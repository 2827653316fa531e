"""A learner is paused, frozen, changed and reset while it runs."""

import unittest

import fake_server
import millrace
from millrace import LearnerMode


class LearnerTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        client = self.enterContext(millrace.Client(self.server.address))
        self.learner = client.learner("door")

    def test_each_call_says_what_it_does_then(self):
        calls = {self.learner.status: LearnerMode.LEARNING, self.learner.pause: LearnerMode.PAUSED,
                 self.learner.freeze: LearnerMode.FROZEN, self.learner.resume: LearnerMode.LEARNING,
                 self.learner.reset: LearnerMode.LEARNING}
        for call, mode in calls.items():
            with self.subTest(call.__name__):
                status = call()
                self.assertEqual((status.stream, status.mode), ("door", mode))
                self.assertEqual(status.updates, (3, 2))
        self.assertEqual(set(self.server.requests), {"GetLearner", "PauseLearner", "FreezeLearner",
                                                     "ResumeLearner", "ResetLearner"})

    def test_only_what_is_given_is_changed(self):
        status = self.learner.update(learning_rate=0.25)
        self.assertEqual((status.stream, status.learning_rate), ("door", 0.25))
        (request,) = self.server.requests["UpdateLearner"]
        self.assertEqual(list(request.update_mask.paths), ["learning_rate"])

    def test_zero_is_given_too(self):
        self.learner.update(update_every=0, learning_rate=0.5)
        (request,) = self.server.requests["UpdateLearner"]
        self.assertEqual(set(request.update_mask.paths), {"learning_rate", "update_every"})

    def test_nothing_to_change_is_an_error(self):
        with self.assertRaises(ValueError):
            self.learner.update()
        self.assertNotIn("UpdateLearner", self.server.requests)


if __name__ == "__main__":
    unittest.main()
