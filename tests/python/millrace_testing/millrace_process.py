"""Runs the real `millrace` for a test.

    with millrace_process.serve(config(streams=[...])) as server:
        ...  # server.grpc, server.page, server.metrics
    server.summary["predicted"]

`serve` waits until the server is ready, and at the end stops it by SIGTERM and checks that it ended
well. `serve_to_end` is for servers that end by themselves. The environment variable
MILLRACE_PROGRAM names the program.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import queue
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Limit from SIGTERM to the end on an idle machine. A sanitizer is slower, and looks for leaks at
# the end.
_STOP_LIMIT_S = float(os.environ.get("MILLRACE_STOP_LIMIT_S", "3"))
# Far more than a loaded machine or a sanitizer needs: reached only if the program hangs.
PATIENCE_S = float(os.environ.get("MILLRACE_TEST_PATIENCE_S", 120))

_BANNER = re.compile(
    r"open +(?P<page>http://\S+) +gRPC +(?P<grpc>\S+) +metrics +(?P<metrics>http://\S+)"
)


def program() -> str:
    return os.environ["MILLRACE_PROGRAM"]


def test_stream(name: str = "test", frames_per_second: int = 30, **keys) -> dict:
    """A stream of GStreamer's moving test picture, for config()."""
    source = {"uri": "test:ball", "test_frames_per_second": frames_per_second}
    return {"name": name, "source": source, **keys}


def config(streams: list[dict] | None = None, **sections) -> dict:
    """A configuration with free ports, and a network so small that a step takes milliseconds."""
    return {
        "version": 1,
        "listen": {"grpc_port": 0, "http_port": 0, "metrics_port": 0},
        "model": {"input": [64, 64]},
        "schedule": {"kind": "one_f_one_b_star", "stages": 2},
        "streams": [test_stream()] if streams is None else streams,
        **sections,
    }


def ranks_secret(folder: pathlib.Path) -> pathlib.Path:
    """A new file with a secret for `ranks`."""
    secret = folder / "ranks.secret"
    secret.touch(mode=0o600)
    secret.write_text(secrets.token_hex(32) + "\n")
    return secret


def wait_for(what: str, condition: Callable[[], object], patience_s: float = PATIENCE_S,
             pause_s: float = 0.05):
    """Returns the condition's first true value. Asks again until then, and fails naming `what`."""
    deadline = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s} s in vain for {what}")
        time.sleep(pause_s)
    return value


@dataclasses.dataclass
class Server:
    """A running server. `summary` is set once it has stopped."""

    process: subprocess.Popen
    page: str  # http://127.0.0.1:8080
    grpc: str  # 127.0.0.1:50051
    metrics: str  # http://127.0.0.1:9464/metrics
    output: list[str]  # The printed lines so far.
    summary: dict | None = None
    stop_s: float | None = None  # The duration of the stop.

    @property
    def config_file(self) -> pathlib.Path:
        """The configuration file, which SIGHUP reloads."""
        arguments = self.process.args
        return pathlib.Path(arguments[arguments.index("--config") + 1])


@dataclasses.dataclass(frozen=True)
class Ended:
    """A server that ended by itself. `summary` is None if it wrote no summary."""

    code: int
    output: str
    summary: dict | None


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    """Runs `millrace ARGUMENTS` in the checkout's root until it ends."""
    return subprocess.run(
        [program(), *arguments],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )


@contextlib.contextmanager
def start(configuration: dict, *arguments: str, open_files: int | None = None,
          inside: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen, pathlib.Path]]:
    """Starts `millrace serve` in the checkout's root; ends it with the block. Also returns the path
    of its summary. `open_files`: its limit of open files, which it cannot raise. `inside`: a command
    that becomes the one behind it, such as nsenter."""
    with _command(configuration, *arguments) as (command, summary):
        limit = [] if open_files is None else ["prlimit", f"--nofile={open_files}:{open_files}"]
        with subprocess.Popen(
            [*inside, *limit, *command],
            cwd=ROOT,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                yield process, summary
            finally:
                if process.poll() is None:
                    process.kill()


@contextlib.contextmanager
def serve(configuration: dict, *arguments: str, open_files: int | None = None) -> Iterator[Server]:
    """Runs `millrace serve` in the checkout's root during the block. `open_files`: see start()."""
    with start(configuration, *arguments, open_files=open_files) as (process, summary):
        server = stands(process)
        yield server
        stop(server)
        server.summary = json.loads(summary.read_text())


def serve_to_end(configuration: dict, *arguments: str) -> Ended:
    """Runs `millrace serve` in the checkout's root until it ends by itself."""
    with _command(configuration, *arguments) as (command, summary):
        process = subprocess.run(
            command,
            cwd=ROOT,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            check=False,
        )
        written = json.loads(summary.read_text()) if summary.exists() else None
        return Ended(code=process.returncode, output=process.stdout, summary=written)


@contextlib.contextmanager
def _command(configuration: dict, *arguments: str) -> Iterator[tuple[list[str], pathlib.Path]]:
    """The command that serves the configuration, and the path of its summary."""
    with tempfile.TemporaryDirectory(prefix="millrace.") as name:
        folder = pathlib.Path(name)
        # JSON is YAML.
        (folder / "millrace.yaml").write_text(json.dumps(configuration, indent=1))
        summary = folder / "summary.json"
        yield [
            program(),
            "serve",
            "--config",
            str(folder / "millrace.yaml"),
            "--summary-json",
            str(summary),
            *arguments,
        ], summary


def stands(process: subprocess.Popen) -> Server:
    """Waits for the banner with the ports, and goes on collecting later output."""
    output: list[str] = []
    lines: queue.Queue = queue.Queue()

    def read():
        for line in process.stdout:
            output.append(line)
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            line = lines.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(
                "millrace serve printed no addresses:\n" + "".join(output)
            ) from None
        if line is None:
            raise AssertionError(f"millrace serve ended with {process.wait()}:\n" + "".join(output))
        if banner := _BANNER.search(line):
            return Server(process=process, output=output, **banner.groupdict())


def stop(server: Server, number: signal.Signals = signal.SIGTERM) -> None:
    """Signals the server and checks that it ends well. Ignores a server that has already ended
    well."""
    if server.process.returncode == 0:
        return
    code, server.stop_s = end(server.process, number)
    if code != 0:
        raise AssertionError(
            f"millrace serve answered {number.name} with {code}:\n" + "".join(server.output)
        )


def busy() -> float:
    """The seconds that a second's work on an idle machine may take here and now."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def stop_limit_s(busy_before: float | None = None) -> float:
    """The limit from SIGTERM to the end. A test that is itself a load takes busy() before it begins,
    and passes it here: its own load earns no time. Otherwise the machine's present load counts."""
    return _STOP_LIMIT_S * (busy() if busy_before is None else busy_before)


def end(process: subprocess.Popen, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
    """Signals the process. Returns its exit code and the seconds until its end."""
    begin = time.monotonic()
    process.send_signal(number)
    return process.wait(PATIENCE_S), time.monotonic() - begin
