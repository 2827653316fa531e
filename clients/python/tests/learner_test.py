"""A learner is paused, frozen, changed and reset while it runs."""

import unittest

from millrace import LearnerState, UpdatePolicy, UpdatePolicyKind
import millrace
from millrace_testing import fake_server


class LearnerTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        client = self.enterContext(millrace.Client(self.server.address))
        self.learner = client.learner("door")

    def asked_to_change(self) -> list[str]:
        (request,) = self.server.requests["UpdateLearner"]
        return list(request.update_mask.paths)

    def test_each_call_says_what_it_does_then(self):
        calls = {self.learner.status: LearnerState.LEARNING,
                 self.learner.pause: LearnerState.PAUSED,
                 self.learner.freeze: LearnerState.FROZEN,
                 self.learner.resume: LearnerState.LEARNING,
                 self.learner.reset: LearnerState.LEARNING}
        for call, state in calls.items():
            with self.subTest(call.__name__):
                status = call()
                self.assertEqual((status.stream, status.state), ("door", state))
                self.assertEqual((status.updates, status.roll_backs), ((3, 2), 1))
                self.assertEqual((status.learning_rate_share, status.cause), (0.5, ""))
        self.assertEqual(set(self.server.requests), {"GetLearner", "PauseLearner", "FreezeLearner",
                                                     "ResumeLearner", "ResetLearner"})

    def test_only_what_is_given_is_changed(self):
        status = self.learner.update(learning_rate=0.25)
        self.assertEqual((status.stream, status.learning_rate), ("door", 0.25))
        self.assertEqual(self.asked_to_change(), ["learning_rate"])

    def test_a_policy_is_told_back_as_it_was_given(self):
        policy = UpdatePolicy(UpdatePolicyKind.MAG, moving_share=0.25, moving_pixels=0.5,
                              warm_up=100, force_after=9)
        self.assertEqual(self.learner.update(policy=policy).policy, policy)
        self.assertEqual(self.asked_to_change(), ["policy"])

    def test_a_parameter_may_be_zero(self):
        policy = UpdatePolicy(UpdatePolicyKind.MAG, moving_pixels=0.0)
        self.assertEqual(self.learner.update(policy=policy).policy, policy)
        (request,) = self.server.requests["UpdateLearner"]
        sent = request.learner.policy
        self.assertTrue(sent.HasField("moving_pixels"))
        self.assertFalse(sent.HasField("moving_share"))

    def test_zero_is_given_too(self):
        self.learner.update(learning_rate=0, policy=UpdatePolicy(every=2))
        self.assertEqual(set(self.asked_to_change()), {"learning_rate", "policy"})

    def test_one_that_learns_from_labels_has_no_policy(self):
        self.assertIsNone(self.learner.status().policy)

    def test_what_cannot_be_changed_is_an_error(self):
        with self.assertRaises(ValueError):
            self.learner.update()
        with self.assertRaises(ValueError):
            self.learner.update(policy=UpdatePolicy(UpdatePolicyKind.UNSPECIFIED))
        self.assertNotIn("UpdateLearner", self.server.requests)


if __name__ == "__main__":
    unittest.main()
