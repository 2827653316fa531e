"""AdaptiveWindow beside River's ADWIN, on the same numbers. Usage: adaptive_window_oracle_test.py PROGRAM

The two differ by intent (adaptive_window.h): ours cuts where the parts differ most clearly, so it drops more of the past at once.
"""

import random
import subprocess
import sys
import unittest

from river.drift import ADWIN

PROGRAM = sys.argv.pop(1)
CHANGE_AT = 1500
CHECK_EVERY = 8
SEEDS = range(10)


def ours(values: list[float]) -> list[int]:
    """The counts of numbers after which AdaptiveWindow detects a change."""
    told = subprocess.run([PROGRAM], input="\n".join(map(repr, values)), capture_output=True,
                          text=True, check=True).stdout
    return [int(line.split()[0]) for line in told.splitlines()]


def of_river(values: list[float]) -> list[int]:
    window = ADWIN(delta=0.002, clock=CHECK_EVERY, min_window_length=32)
    found = []
    for count, value in enumerate(values, start=1):
        window.update(value)
        if window.drift_detected:
            found.append(count)
    return found


def draws(kind: str, seed: int, change: float) -> list[float]:
    """Bits, as in the paper, or numbers around their mean: the mean changes in the middle."""
    source = random.Random(seed)
    means = [0.5] * CHANGE_AT + [0.5 + change] * CHANGE_AT
    if kind == "bits":
        return [float(source.random() < mean) for mean in means]
    return [source.gauss(mean, 0.1) for mean in means]


class AdaptiveWindowOracleTest(unittest.TestCase):
    def test_neither_takes_noise_for_a_change(self):
        for kind in ("bits", "numbers"):
            for seed in SEEDS:
                values = draws(kind, seed, 0)
                self.assertEqual((ours(values), of_river(values)), ([], []), f"{kind}, seed {seed}")

    def test_both_detect_a_change_and_ours_is_not_later(self):
        for kind in ("bits", "numbers"):
            for change in (0.2, 0.4, -0.3):
                for seed in SEEDS:
                    with self.subTest(kind=kind, change=change, seed=seed):
                        values = draws(kind, seed, change)
                        first, rivers_first = ours(values)[0], of_river(values)[0]
                        self.assertGreater(first, CHANGE_AT)
                        self.assertLessEqual(first, rivers_first)
                        self.assertLessEqual(rivers_first - first, 150)


if __name__ == "__main__":
    unittest.main()
