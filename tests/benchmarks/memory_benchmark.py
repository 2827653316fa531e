"""Memory of a configured server over 2,000 frames of a video, as fast as it can learn from them.

    memory_benchmark.py CONFIGURATION JSON_FILE

Ends with exit code 1 if the memory grows, as growth.py defines it.
"""

import sys

from millrace_testing import growth, millrace_process
import sample_server

FRAMES = 2000
# 16 kB a frame in the second half: a leaked picture has 330 kB, a leaked flow 880 kB. Allocators give
# back and take again up to 9 MB of the 450.
LIMIT_BYTES = 16e6


def measure(configuration: dict) -> list[tuple[float, float]]:
    """(predictions so far, resident bytes), from one scrape each."""
    samples: list[tuple[float, float]] = []

    def look() -> None:
        now = sample_server.metrics(server)
        samples.append((now["millrace_service_frames_predicted_total"],
                        now["process_resident_memory_bytes"]))

    with millrace_process.serve(configuration, "--no-progress") as server:
        sample_server.wait_until_predicted(server, FRAMES, meanwhile=look)
    return samples


def main() -> int:
    sample_server.show_conditions()
    samples = measure(sample_server.configuration(sys.argv[1], loop=True, as_camera=False))
    found = growth.judge(samples)
    grows = found.exceeds(LIMIT_BYTES)
    middle = next(value for step, value in samples if step >= FRAMES / 2)
    end = samples[-1][1]
    sample_server.show(
        f"Resident memory over {FRAMES} frames ({len(samples)} samples)",
        [["at half", "at the end", "end to half", "slope of the second half", "its rise",
          "its greatest less mean", "verdict"],
         [f"{middle / 1e6:.0f} MB", f"{end / 1e6:.0f} MB", f"{end / middle:.3f}",
          f"{found.per_step / 1e3:.2f} kB a frame", f"{found.rise / 1e6:.2f} MB",
          f"{found.spread / 1e6:.2f} MB", "grows" if grows else "does not grow"]])
    sample_server.write_result(sys.argv[2], {
        "frames": FRAMES, "bytes_at_half": middle, "bytes_at_end": end, "ratio": end / middle,
        "slope_bytes_per_frame": found.per_step, "rise_bytes": found.rise,
        "max_less_mean_bytes": found.spread, "limit_bytes": LIMIT_BYTES, "grows": grows,
        "samples": samples})
    return 1 if grows else 0


if __name__ == "__main__":
    sys.exit(main())
