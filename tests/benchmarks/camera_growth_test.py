"""Tries of a camera, again and again, leave nothing behind; the check finds a process that leaks."""

import os
import unittest

import camera_growth

PROGRAM = os.environ["MILLRACE_CAMERA_SOAK"]


class CameraGrowthTest(unittest.TestCase):
    def what_grows(self, kind: str, tries: int, leak: bool = False) -> list[str]:
        return camera_growth.what_grows(camera_growth.soak(PROGRAM, kind, tries, leak))

    def test_a_camera_that_is_not_there_costs_nothing(self):
        self.assertEqual(self.what_grows("refused", 1500), [])

    def test_a_camera_that_comes_and_goes_costs_nothing(self):
        self.assertEqual(self.what_grows("ends", 200), [])

    def test_what_leaks_on_purpose_is_found(self):
        self.assertEqual(self.what_grows("refused", 1000, leak=True), list(camera_growth.LIMITS))


if __name__ == "__main__":
    unittest.main()
