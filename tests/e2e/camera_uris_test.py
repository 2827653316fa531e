"""Usual camera URIs, from the configuration to a prediction, and wrong ones.

The forms are those of tests/data/camera_uris.json. The cameras are real RTSP servers at the hosts and
ports of the URIs, with their paths, queries, users and passwords, in a network of the test's own.
"""

import contextlib
import dataclasses
import json
import pathlib
import tempfile
import unittest
from collections.abc import Iterator

import millrace
from millrace_testing import certificates, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from network_namespace import NetworkNamespace

TABLE = json.loads((millrace_process.ROOT / "tests/data/camera_uris.json").read_text())
GOOD, BAD = TABLE["good"], TABLE["bad"]
# A server has at most 64 streams; a full round must need little memory.
STREAMS = 20
# The camera's picture is tiny, and so is the model, which does not learn: the URI is what counts.
PICTURE = ["--width", "64", "--height", "64", "--fps", "5", "--gop", "5", "--pattern", "ball"]


def is_encrypted(form: dict) -> bool:
    return form["uri"].lower().startswith("rtsps:")


def is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def setUpModule():
    hosts = {form["host"].split("%")[0].lower() for form in GOOD}
    NetworkNamespace(hosts={host: "127.0.0.1" for host in hosts if not is_address(host)},
                     addresses=tuple(filter(is_address, hosts))).enter()  # fmt: skip


@dataclasses.dataclass
class Port:
    """The paths of the camera at one port: all encrypted or all plain, with logins or without."""

    encrypted: bool
    asks: bool
    forms: list[dict]

    def takes(self, form: dict) -> bool:
        return (self.encrypted == is_encrypted(form) and self.asks == (form["user"] is not None)
                and form["path"].split("?")[0] not in (other["path"].split("?")[0] for other in self.forms))

    def mounts(self) -> str:
        return "".join("\t".join((form["path"] if form["path"].startswith("/") else "/" + form["path"],
                                  form["user"] or "", form["password"] or "")) + "\n"
                       for form in self.forms)


def rounds(forms: list[dict]) -> list[dict[int, Port]]:
    """Divides the forms into rounds, so that each round has one camera at a port."""
    shared: list[dict[int, Port]] = []
    for form in forms:
        empty = Port(is_encrypted(form), form["user"] is not None, [])
        for ports in shared:
            full = sum(len(port.forms) for port in ports.values()) >= STREAMS
            if not full and ports.setdefault(form["port"], empty).takes(form):
                break
        else:
            shared.append(ports := {form["port"]: empty})
        ports[form["port"]].forms.append(form)
    return shared


@contextlib.contextmanager
def cameras(ports: dict[int, Port]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace.")))
        certificates.make_certificate(folder, "camera.local")
        both = folder / "both.pem"
        both.write_text("".join((folder / name).read_text() for name in ("certificate.pem", "key.pem")))
        for number, port in ports.items():
            mounts = folder / f"{number}.mounts"
            mounts.write_text(port.mounts())
            encrypted = ["--tls", str(both)] if port.encrypted else []
            stack.enter_context(RtspCamera("--address", "::", "--port", str(number), *PICTURE,
                                           "--mounts", str(mounts), *encrypted))  # fmt: skip
        yield


def stream(name: str, form: dict) -> dict:
    unchecked = {"tls_verify": False} if is_encrypted(form) else {}
    return {"name": name, "source": {"uri": form["uri"], "max_fps": 2, **unchecked}}


def configuration(streams: list[dict]) -> dict:
    return millrace_process.config(
        streams=streams, schedule={"kind": "sequential"}, model={"input": [64, 64], "learning_rate": 0},
        client_sources={"schemes": ["rtsp", "rtsps"], "hosts": ["*"]})  # fmt: skip


def check_config(streams: list[dict]) -> tuple[int, list[str]]:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(json.dumps(configuration(streams), indent=1))
        file.flush()
        result = millrace_process.run("check-config", file.name)
        text = (result.stdout + result.stderr).replace(file.name, "FILE")
        return result.returncode, text.splitlines()


class GoodFormsTest(unittest.TestCase):
    def test_check_config_takes_them(self):
        for first in range(0, len(GOOD), 60):
            streams = [stream(f"c{i}", form) for i, form in enumerate(GOOD[first:first + 60])]
            code, lines = check_config(streams)
            self.assertEqual(code, 0, "\n".join(lines))

    def test_each_gives_predictions_as_configured_and_as_created(self):
        self.assertGreaterEqual(len(GOOD), 60)
        for ports in rounds(GOOD):
            forms = {f"c{i}": form for i, form in
                     enumerate(form for port in ports.values() for form in port.forms)}
            streams = {name: stream(name, form) for name, form in forms.items()}
            with cameras(ports), millrace_process.serve(configuration(list(streams.values()))) as server, \
                    millrace.Client(server.grpc) as client:
                self.wait_for_predictions(client, forms)
                for name in streams:
                    client.delete_stream(name)
                for entry in streams.values():
                    client.create_stream(entry)
                self.wait_for_predictions(client, forms)

    def wait_for_predictions(self, client: millrace.Client, forms: dict[str, dict]) -> None:
        waiting = dict(forms)

        def all_predicted() -> bool:
            for told in client.streams():
                if told.message.frames.predicted > 0:
                    waiting.pop(told.name, None)
            return not waiting

        try:
            millrace_process.wait_for("predictions", all_predicted)
        except AssertionError:
            causes = {told.name: told.message.source_cause for told in client.streams()}
            self.fail("\n".join(f"{form['uri']}: {causes[name]}" for name, form in waiting.items()))


class BadFormsTest(unittest.TestCase):
    def streams(self) -> dict[str, dict]:
        return {f"c{i}": {"name": f"c{i}", "source": {"uri": form["uri"]}} for i, form in enumerate(BAD)}

    def assert_says(self, text: str, form: dict) -> None:
        self.assertIn(form["why"], text, form["uri"])
        if "secret" in form:
            self.assertNotIn(form["secret"], text, form["uri"])

    def test_check_config_and_serve_refuse_all_at_once_with_line_and_column(self):
        streams = list(self.streams().values())
        code, lines = check_config(streams)
        self.assertEqual(code, 2, "\n".join(lines))
        at = [line for line in json.dumps(configuration(streams), indent=1).splitlines()]
        rows = [number for number, line in enumerate(at, start=1) if '"uri":' in line]
        for row, form in zip(rows, BAD, strict=True):
            (line,) = [line for line in lines if line.startswith(f"FILE:{row}:")]
            self.assertRegex(line, r"FILE:\d+:\d+: 'uri' has ")
            self.assert_says(line, form)
        ended = millrace_process.serve_to_end(configuration(streams))
        self.assertEqual(ended.code, 2)
        for form in BAD:
            self.assertIn(form["why"], ended.output)
        self.assertNotIn("geheim", ended.output)

    def test_create_stream_refuses_each_with_what_to_write(self):
        with millrace_process.serve(configuration([])) as server, \
                millrace.Client(server.grpc) as client:
            for entry, form in zip(self.streams().values(), BAD, strict=True):
                with self.assertRaises(millrace.InvalidArgument) as refused:
                    client.create_stream(entry)
                self.assert_says(str(refused.exception), form)
            self.assertEqual(client.streams(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
