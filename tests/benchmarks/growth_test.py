"""The check of memory finds growing memory, and accepts steady memory."""

import os
import pathlib
import random
import unittest

from millrace_testing import growth

MB = 1e6
LIMIT = 4 * MB
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * PAGE


def noisy(value, steps: int = 200, noise: float = 0.5 * MB) -> list[tuple[float, float]]:
    """`value` of each step, with noise that is the same in every run."""
    dice = random.Random(7)
    return [(step, value(step) + dice.uniform(-noise, noise)) for step in range(steps)]


class GrowthTest(unittest.TestCase):
    def test_a_steady_program_passes(self):
        self.assertFalse(growth.judge(noisy(lambda step: 300 * MB)).exceeds(LIMIT))

    def test_warming_up_passes(self):
        self.assertFalse(growth.judge(noisy(lambda step: min(step, 90) * MB)).exceeds(LIMIT))

    def test_shrinking_is_no_rise(self):
        self.assertLess(growth.judge(noisy(lambda step: (300 - step) * MB)).rise, 0)

    def test_a_slow_leak_is_found(self):
        leak = growth.judge(noisy(lambda step: 300 * MB + step * 0.06 * MB))
        self.assertTrue(leak.exceeds(LIMIT))
        self.assertAlmostEqual(leak.per_step, 0.06 * MB, delta=0.01 * MB)

    def test_a_late_jump_is_found(self):
        self.assertTrue(growth.judge(noisy(lambda step: 12 * MB * (step > 170))).exceeds(LIMIT))

    def test_too_few_samples_are_refused(self):
        with self.assertRaises(ValueError):
            growth.judge([(step, 1.0) for step in range(9)])

    def test_a_list_that_grows_in_a_real_process_is_found(self):
        kept = []
        samples = []
        for step in range(200):
            kept.append(os.urandom(100_000))
            samples.append((step, resident_bytes()))
        found = growth.judge(samples)
        self.assertTrue(found.exceeds(LIMIT), found)
        self.assertAlmostEqual(found.per_step, 100_000, delta=20_000)

    def test_a_list_that_is_emptied_in_a_real_process_passes(self):
        kept = []
        samples = []
        for step in range(200):
            kept.append(os.urandom(100_000))
            del kept[:-10]
            samples.append((step, resident_bytes()))
        self.assertFalse(growth.judge(samples).exceeds(LIMIT), samples)


if __name__ == "__main__":
    unittest.main()
