"""Memory, threads and files of a process while it tries a camera again and again.

    camera_growth.py PROGRAM JSON_FILE      PROGRAM: camera_soak

Ends with exit code 1 if one of them grows, or if the check does not find a deliberate leak.
"""

import json
import pathlib
import subprocess
import sys

from millrace_testing import growth

# Allocators give back and take again some of what a pipeline needs: of resident bytes it may be more than of those in
# use ("heap"), in which 10 KB a try are seen after two hundred tries.
LIMITS = {"bytes": 3e6, "heap": 0.75e6, "threads": 3, "files": 4}
RUNS = [("refused", 10_000, False), ("ends", 1_000, False), ("refused", 1_000, True)]


def soak(program: str, kind: str, tries: int, leak: bool) -> dict[str, list[tuple[float, float]]]:
    """Of each thing that is watched, (tries so far, how much)."""
    command = [program, kind, str(tries)] + (["leak"] if leak else [])
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [[float(word) for word in line.split()] for line in lines]
    return {name: [(row[0], row[i + 1]) for row in rows] for i, name in enumerate(LIMITS)}


def what_grows(samples: dict[str, list[tuple[float, float]]]) -> list[str]:
    """The names of what grows beyond its limit."""
    return [name for name, of_it in samples.items()
            if growth.judge(of_it).exceeds(LIMITS[name])]  # fmt: skip


def main() -> int:
    as_meant = True
    results = []
    for kind, tries, leak in RUNS:
        samples = soak(sys.argv[1], kind, tries, leak)
        grows = what_grows(samples)
        as_meant = as_meant and grows == (list(LIMITS) if leak else [])
        first, last = ({name: of_it[i][1] for name, of_it in samples.items()} for i in (0, -1))
        print(f"{kind}, {tries} tries{', leaking on purpose' if leak else ''}: "
              f"{first['bytes'] / 1e6:.1f} to {last['bytes'] / 1e6:.1f} MB, "
              f"{first['heap'] / 1e6:.2f} to {last['heap'] / 1e6:.2f} MB of it in use, "
              f"{first['threads']:.0f} to {last['threads']:.0f} threads, "
              f"{first['files']:.0f} to {last['files']:.0f} files; "
              f"grows: {', '.join(grows) or 'nothing'}", flush=True)  # fmt: skip
        results.append({"kind": kind, "tries": tries, "leak": leak, "grows": grows,
                        "samples": samples})  # fmt: skip
    pathlib.Path(sys.argv[2]).write_text(json.dumps(results))
    return 0 if as_meant else 1


if __name__ == "__main__":
    sys.exit(main())
