"""Decides whether the memory of a running program grows.

The first half of a run is warm-up: caches fill, allocators reach their size. The second half must
pass two checks, like those of Triton's tests:

  rise    of a straight line through it: finds slow and steady growth
  spread  greatest less mean, without the 5 % at either end of the values: finds a jump
"""

import dataclasses
import statistics

TRIM = 0.05


@dataclasses.dataclass(frozen=True)
class Growth:
    """The growth in the second half, in the unit of the values; `per_step` in that unit per step."""

    per_step: float
    rise: float
    spread: float

    def exceeds(self, limit: float) -> bool:
        return self.rise > limit or self.spread > limit


def judge(samples: list[tuple[float, float]]) -> Growth:
    """Of (step, value) pairs in the order of the steps: at least ten."""
    if len(samples) < 10:
        raise ValueError(f"{len(samples)} samples are too few to judge")
    middle = (samples[0][0] + samples[-1][0]) / 2
    half = [sample for sample in samples if sample[0] >= middle]
    steps = [step for step, _ in half]
    values = [value for _, value in half]
    per_step = statistics.linear_regression(steps, values).slope
    return Growth(per_step=per_step, rise=per_step * (steps[-1] - steps[0]), spread=_spread(values))


def _spread(values: list[float]) -> float:
    cut = int(len(values) * TRIM)
    kept = sorted(values)[cut:len(values) - cut]
    return kept[-1] - statistics.fmean(kept)
