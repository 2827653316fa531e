"""`check-config` refuses exactly the files that `serve` refuses without a look at cameras, with the same messages: every
fault of a file with its line and column, all at once."""

import os
import pathlib
import resource
import socket
import subprocess
import tempfile
import unittest
from collections.abc import Callable

from debian_pytorch import in_pytorch
from millrace_testing import certificates, millrace_process, shipped_config

ROOT = millrace_process.ROOT
PORTS = "grpc_port: 0, http_port: 0, metrics_port: 0"
FREE = f"listen: {{{PORTS}}}"
SMALL = "model: {input: [64, 64]}"
TEST = "source: {uri: 'test:ball'}"
CAMERA = "source: {uri: 'rtsps://192.0.2.1/1', user: me"
LABELS = "task: classification, outputs: 2"


def stream(*keys: str) -> str:
    """A file with a stream of these keys."""
    return f"{FREE}\nstreams:\n- {{name: a, {', '.join(keys)}}}"


# What a file says, with a ^ before each value that it is refused for, and words of each refusal.
FAULTS = [
    # What the file alone shows.
    (stream(TEST, SMALL) + "\n^colour: blue", ["unknown key 'colour'"]),
    (f"^{FREE}\n^streems: []", ["has no key 'streams'", "unknown key 'streems'; did you mean 'streams'"]),
    (f"{FREE}\nstreams:\n- {{name: ^a b, {TEST}}}", ["'name' is 'a b'"]),
    (f"{FREE}\nstreams:\n- ^{{name: a}}", ["has no key 'source'"]),
    (stream("source: {uri: 'test:ball', loop: ^true}"), ["'loop' is for files only"]),
    (stream("source: {uri: ^'ftp://camera/1'}"), ["'uri' begins with 'ftp:'"]),
    (stream("source: {uri: ^'v4l2:noext'}"), ["'uri' v4l2:noext: names no device: write v4l2:/dev/video0"]),
    (stream(TEST, "schedule: {kind: ^partimes}"), ["'kind' is 'partimes'"]),
    (stream(TEST, "schedule: {stages: 3, cuts: ^[1]}"), ["'cuts' has 1 entry; 3 stages need 2"]),
    (stream(TEST, "schedule: {stages: ^99}"), ["'stages' is '99'"]),
    (stream(TEST, "model: {network: ^resnet}"), ["'network' is 'resnet'"]),
    (stream(TEST, "model: {input: [^65, 64]}"), ["is '65'; it must be"]),
    (stream(TEST, "model: {weights: ^~/w.safetensors}"), ["'weights' is '~/w.safetensors'; only a shell"]),
    (f"listen: {{address: ^camera.local, {PORTS}}}\nstreams: []", ["'address' is 'camera.local'"]),
    (f"listen: {{grpc_port: 7001, http_port: ^7001, metrics_port: 0}}\nstreams: []", ["'http_port' is 7001"]),
    # Videos, pictures and tests.
    (stream("source: {uri: ^nowhere.avi}"), ["source.uri: {folder}/nowhere.avi: there is no such file"]),
    (stream("source: {uri: ^pipe.mp4}"), ["source.uri: {folder}/pipe.mp4: it cannot be read: it is a pipe, socket or device"]),
    (stream("source: {uri: ^'file:no%20where.avi'}"), ["source.uri: file://{folder}/no%20where.avi: there is no such file"]),
    (stream("source: {uri: ^text.txt}"), ["source.uri: {folder}/text.txt"]),
    (stream("source: {uri: ^empty}"), ["source.uri: {folder}/empty"]),
    (stream("source: {uri: ^'none/*.png'}"), ["source.uri: {folder}/none"]),
    (stream("source: {uri: ^'test:nonsense'}"), ["source.uri: test:nonsense: unknown test pattern"]),
    # Networks and weights.
    (stream(TEST, "model: {weights: ^nowhere.safetensors}"), ["model.weights: there is no weight file {folder}/nowhere.safetensors"]),
    (f"{FREE}\nmodel: {{weights: ^nowhere.safetensors}}\nstreams:\n- {{name: a, {TEST}}}\n- {{name: b, {TEST}}}",
     ["model.weights: there is no weight file {folder}/nowhere.safetensors"]),
    (stream(TEST, "model: {weights: ^text.txt}"), ["model.weights: the weight file {folder}/text.txt is damaged"]),
    (stream(TEST, "model: {network: levels, weights: ^start.safetensors}"), ["model.weights: .*start.safetensors does not fit this network"]),
    (stream(TEST, "model: {network: ^nowhere.pt}"), ["model.network: there is no model {folder}/nowhere.pt"]),
    (stream(TEST, "model: {network: ^text.pt}"), ["model.network: {folder}/text.pt cannot be used: it is no TorchScript network .PyTorch did not write it, or it was cut short.; save"]),
    (stream(TEST, "model: {network: ^grey.pt}"), ["model.network: {folder}/grey.pt cannot be used: it fails on a pair of pictures"]),
    (stream(TEST, "model: {network: ^narrow.pt}"), ["model.network: {folder}/narrow.pt cannot be used: it makes"]),
    (stream(TEST, "model: {network: good.pt, weights: ^nowhere.bin}"), ["model.weights: there is no weight file {folder}/nowhere.bin"]),
    (stream(TEST, "model: {weights: ^pipe.mp4}"), ["model.weights: {folder}/pipe.mp4 cannot be read: it is a pipe, socket or device"]),
    (stream(TEST, f"model: {{{LABELS}, network: ^nowhere.pt}}"), ["model.network: there is no model {folder}/nowhere.pt"]),
    (stream(TEST, f"model: {{{LABELS}, network: ^good.pt}}"), ["model.network: "]),
    (stream(TEST, f"model: {{{LABELS}, weights: ^nowhere.bin}}"), ["model.weights: there is no weight file {folder}/nowhere.bin"]),
    # Cuts, stages and devices that do not go with the network or the machine.
    (stream(TEST, "schedule: {stages: 2, cuts: ^[90]}"), ["schedule.cuts: cut 90 is not allowed"]),
    (stream(TEST, "model: {network: good.pt}", "schedule: {kind: partime, stages: ^8}"), ["schedule.stages: cannot cut 4 layers into 8"]),
    (stream(TEST, f"model: {{{LABELS}, layers: 2}}", "schedule: {kind: partime, stages: ^8}"), ["schedule.stages: cannot cut 2 layers into 8"]),
    (stream(TEST, "schedule: {devices: ^'cuda:90'}"), ["schedule.devices: "]),
    # Checkpoints.
    (stream(TEST, "checkpoints: {folder: ^text.txt}"), ["checkpoints.folder: .*{folder}/text.txt: Not a directory"]),
    (f"{FREE}\ncheckpoints: {{folder: ^/proc/nowhere}}\nstreams:\n- {{name: a, {TEST}}}", ["checkpoints.folder: .*/proc/nowhere: "]),
    # Logins and certificates of cameras.
    (stream(f"{CAMERA}, password_env: ^MILLRACE_TEST_UNSET}}"), ["source.password_env: .*MILLRACE_TEST_UNSET.* is not set"]),
    (stream(f"{CAMERA}, password_file: ^nowhere.txt}}"), ["source.password_file: .*{folder}/nowhere.txt"]),
    (stream(f"{CAMERA}, password_file: ^empty}}"), ["source.password_file: .*{folder}/empty: it is a folder"]),
    (stream(f"{CAMERA}, tls_ca_file: ^nowhere.pem}}"), ["source.tls_ca_file: .*{folder}/nowhere.pem"]),
    (stream(f"{CAMERA}, password_file: ^pipe.mp4}}"), ["source.password_file: .*{folder}/pipe.mp4: it is a pipe"]),
    (stream(f"{CAMERA}, tls_ca_file: ^pipe.mp4}}"), ["source.tls_ca_file: .*{folder}/pipe.mp4 cannot be read: it is a pipe"]),
    (stream(f"{CAMERA}, tls_ca_file: ^text.txt}}"), ["source.tls_ca_file: .*{folder}/text.txt"]),
    # The server's own files and address.
    (f"listen: {{tls: {{certificate: ^no.pem, key: ^no.key}}, {PORTS}}}\nstreams: []",
     ["listen.tls.certificate: {folder}/no.pem cannot be read", "listen.tls.key: the file that it names cannot be read: No such file"]),
    (f"listen: {{tls: {{certificate: certificate.pem, key: ^other/key.pem}}, {PORTS}}}\nstreams: []",
     ["listen.tls.key: .*is the key of another certificate"]),
    (f"listen: {{tokens_file: ^no.txt, {PORTS}}}\nstreams: []", ["listen.tokens_file: the file that it names cannot be read: No such file"]),
    (f"listen: {{tokens_file: ^pipe.mp4, {PORTS}}}\nstreams: []", ["listen.tokens_file: {folder}/pipe.mp4 cannot be read: it is a pipe"]),
    (f"listen: {{address: ^192.0.2.77, allow_plain_text: true, {PORTS}}}\nstreams: []", ["listen.address: .*192.0.2.77"]),
    # Memory.
    (f"{FREE}\nbudget: {{memory_gb: ^0.1}}\nstreams:\n- {{name: a, {TEST}, {SMALL}}}\n- {{name: b, {TEST}, model: {{input: [512, 512]}}}}",
     [r"budget.memory_gb: stream 'b': about \d+ MB of memory are needed, and of 100 MB there are \d+ MB left: 'a' takes \d+ MB; "]),
    # Several at once.
    (f"listen: {{tokens_file: ^no.txt, {PORTS}}}\nstreams:\n"
     f"- {{name: a, {CAMERA}, password_env: ^MILLRACE_TEST_UNSET}}, checkpoints: {{folder: ^/proc/nowhere}}}}\n"
     "- {name: b, source: {uri: ^nowhere.avi}, model: {network: ^grey.pt, weights: ^nowhere.bin}, schedule: {devices: ^'cuda:90'}}",
     ["listen.tokens_file", "source.password_env", "checkpoints.folder", "source.uri", "model.network", "model.weights",
      "schedule.devices"]),
    # What the file alone shows, and what the machine shows, in the order of the file.
    (f"{FREE}\nstreams:\n"
     "- {name: a, source: {uri: ^'rtsp://me@:554/1', password_env: ^MILLRACE_TEST_UNSET}, checkpoints: {folder: ^/proc/nowhere, every: ^0}}\n"
     "- {name: b, source: {uri: ^'rtsp://camera:0/1'}, model: {network: grey.pt, input: [64, ^65]}, schedule: {devices: ^'cuda:90', stages: ^0}}\n"
     "- {name: c, source: {uri: ^nowhere.avi, max_fps: ^fast}, model: {weights: ^nowhere.bin}, ^colour: blue}",
     ["'uri' ", "MILLRACE_TEST_UNSET.* is not set", "/proc/nowhere: ", "'every' is '0'", "'uri' ", "'65'; it must be", "schedule.devices: ",
      "'stages' is '0'", "there is no such file", "'max_fps' is 'fast'", "there is no weight file", "unknown key 'colour'"]),
]

# What is right, though it may look odd.
GOOD = [
    stream(TEST, SMALL),
    stream(TEST, "model: {input: [64, 64], network: good.pt, loss: photo_and_smooth}"),
    stream(TEST, "model: {input: [64, 64], weights: start.safetensors}", "checkpoints: {folder: new/kept}"),
    stream(TEST, SMALL, "schedule: {devices: auto}"),
    stream(TEST, f"model: {{{LABELS}}}"),
]

NETWORKS = """
import torch
def save(name, channels, flow):
    layers = torch.nn.Sequential(torch.nn.Conv2d(channels, 8, 3, padding=1), torch.nn.LeakyReLU(0.1),
                                 torch.nn.Conv2d(8, flow, 3, padding=1))
    torch.jit.script(layers).save(f'{folder}/{name}.pt')
save('good', 6, 2)
save('grey', 1, 2)
save('narrow', 6, 1)
"""


class CheckConfigTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        (cls.folder / "text.txt").write_text("nothing\n")
        (cls.folder / "text.pt").write_text("nothing\n")
        (cls.folder / "empty").mkdir()
        os.mkfifo(cls.folder / "pipe.mp4", 0o600)
        (cls.folder / "start.safetensors").symlink_to(ROOT / "samples/weights/refine-start.safetensors")
        certificates.make_certificate(cls.folder, "millrace.test")
        (cls.folder / "other").mkdir()
        certificates.make_certificate(cls.folder / "other", "millrace.test")
        in_pytorch(f"folder = '{cls.folder}'\n{NETWORKS}")

    def run_millrace(self, *arguments: str, limit: Callable[[], None] | None = None) -> subprocess.CompletedProcess:
        """In another folder than the configuration's, to which its paths are relative."""
        return subprocess.run([millrace_process.program(), *arguments], cwd="/", text=True, capture_output=True,
                              timeout=millrace_process.PATIENCE_S, check=False, preexec_fn=limit)

    def written(self, text: str) -> str:
        file = self.folder / "my.yaml"
        file.write_text(f"version: 1\n{text}\n")
        return str(file)

    def both(self, file: str, limit: Callable[[], None] | None = None) -> tuple[subprocess.CompletedProcess, subprocess.CompletedProcess]:
        return (self.run_millrace("check-config", file, limit=limit),
                self.run_millrace("serve", "--config", file, "--frames", "1", "--no-progress", limit=limit))

    def see_refused(self, marked: str, words: list[str]) -> None:
        """Each fault is said at its mark."""
        places, text = [], ""
        for number, line in enumerate(marked.split("\n"), start=2):  # The version is in line 1.
            while (column := line.find("^")) >= 0:
                line = line[:column] + line[column + 1:]
                places.append(f"{number}:{column + 1}")
            text += line + "\n"
        if words[0].startswith("has no key 'streams'"):
            places[0] = "1:1"  # The file itself.
        file = self.written(text)
        checked, served = self.both(file)
        self.assertEqual(checked.returncode, 2, checked.stdout + checked.stderr)
        said = checked.stderr.splitlines()
        self.assertEqual(len(said), len(words), checked.stderr)
        for one, place, expected in zip(said, places, words, strict=True):
            self.assertTrue(one.startswith(f"{file}:{place}: "), f"{one}\nnot at {place}")
            self.assertRegex(one, expected.replace("{folder}", str(self.folder)))
        self.assertEqual(served.returncode, 2, served.stdout + served.stderr)
        for one in said:
            self.assertIn(one, served.stderr)
        self.assertEqual(served.stdout, "", "nothing was started")

    def test_every_fault_has_its_place_and_serve_says_the_same(self):
        self.assertGreaterEqual(len(FAULTS), 40)
        before = sorted(self.folder.rglob("*"))
        for text, words in FAULTS:
            with self.subTest(text):
                self.see_refused(text, words)
        left = set(self.folder.rglob("*")) - set(before)
        self.assertLessEqual(left, {self.folder / "my.yaml"}, "looking leaves nothing behind")

    def test_both_accept_what_is_right(self):
        for text in GOOD:
            with self.subTest(text):
                checked, served = self.both(self.written(text))
                self.assertEqual(checked.returncode, 0, checked.stderr)
                self.assertEqual(served.returncode, 0, served.stderr)

    def test_both_accept_what_is_shipped(self):
        free = {**millrace_process.config()["listen"]}
        for path in sorted((ROOT / "samples").glob("*.yaml")):
            with self.subTest(path.name):
                checked = self.run_millrace("check-config", str(path))
                self.assertEqual(checked.returncode, 0, checked.stderr)
                configuration = {**shipped_config.read(path), "listen": free}
                configuration.pop("checkpoints", None)
                # A camera that is away is waited for.
                if any(not of["source"]["uri"].startswith("rtsp:") for of in configuration["streams"]):
                    ended = millrace_process.serve_to_end(configuration, "--frames", "1")
                    self.assertEqual(ended.code, 0, ended.output)

    def test_both_say_what_this_process_lacks(self):
        file = self.written(stream(TEST, SMALL))
        for ended in self.both(file, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))):
            self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
            self.assertIn("this process may have 64 files open, and needs 124 for 1 stream: raise", ended.stderr)
        for ended in self.both(file, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))):
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn("this process may have 1024 files open: 16 streams, and", ended.stderr)

    def test_a_network_of_ones_own_says_what_it_starts_from(self):
        own = f"{self.folder}/good.pt"
        text = stream(TEST, "model: {input: [64, 64], network: good.pt}")
        said = self.run_millrace("check-config", self.written(text)).stdout
        self.assertIn(f"optical flow at 64x64, from the weights in {own}, learning rate", said)

    def test_a_file_that_waits_for_the_model_has_the_schedule_that_serve_chooses(self):
        video = ROOT / ".deps/video/vtest.avi"
        for keys, plan in {"": "one_f_one_b_star, 2 stages,", ", as_camera: true": "auto, at most 2 stages,"}.items():
            text = stream(f"source: {{uri: {video}{keys}}}", SMALL, "schedule: {stages: 2}")
            self.assertIn(f"  plan      {plan}", self.run_millrace("check-config", self.written(text)).stdout)

    def test_ports_in_use_are_found_first_each_in_one_line(self):
        with socket.socket() as grpc, socket.socket() as page:
            for taken in (grpc, page):
                taken.bind(("127.0.0.1", 0))
                taken.listen()
            ports = [taken.getsockname()[1] for taken in (grpc, page)]
            file = self.written(stream(TEST, SMALL).replace("grpc_port: 0, http_port: 0",
                                                            f"grpc_port: {ports[0]}, http_port: {ports[1]}"))
            checked, served = self.both(file)
            # A file with a fault of its own may have its ports from a default.
            faulty = self.written(pathlib.Path(file).read_text().removeprefix("version: 1\n") + "colour: blue")
            self.assertEqual([run.returncode for run in self.both(faulty)], [2, 2])
        self.assertEqual(served.returncode, 1, served.stderr)
        self.assertEqual(len(served.stderr.splitlines()), 2, served.stderr)
        for key, port in (("grpc_port", ports[0]), ("http_port", ports[1])):
            line = f"listen.{key}: 127.0.0.1:{port} is in use, maybe by another millrace: `ss -ltnp 'sport = :{port}'`"
            self.assertIn(line, served.stderr)
            self.assertIn(line, checked.stdout)
        self.assertEqual(checked.returncode, 0, "it may be the server that runs with this file")

    def test_a_server_that_runs_is_no_fault_of_its_configuration(self):
        configuration = millrace_process.config(checkpoints={"folder": str(self.folder / "running")})
        with millrace_process.serve(configuration) as server:
            checked = self.run_millrace("check-config", str(server.config_file))
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_a_configuration_may_come_through_a_pipe(self):
        for command in (["check-config", "/dev/stdin"], ["serve", "--config", "/dev/stdin", "--frames", "1", "--no-progress"]):
            ran = subprocess.run([millrace_process.program(), *command], input=f"version: 1\n{stream(TEST, SMALL)}\n",
                                 text=True, capture_output=True, timeout=millrace_process.PATIENCE_S, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_what_is_printed_holds_in_every_folder(self):
        file = self.written(stream(TEST, "model: {input: [64, 64], weights: start.safetensors}"))
        printed = subprocess.run([millrace_process.program(), "check-config", "--print", "my.yaml"], cwd=self.folder,
                                 text=True, capture_output=True, check=True).stdout
        self.assertIn(f"weights: {self.folder}/start.safetensors", printed)
        with tempfile.TemporaryDirectory() as other:
            copy = pathlib.Path(other, "copy.yaml")
            copy.write_text(printed)
            self.assertEqual(self.run_millrace("check-config", str(copy)).returncode, 0)
        self.assertEqual(self.run_millrace("check-config", file).returncode, 0)


if __name__ == "__main__":
    os.environ.pop("MILLRACE_TEST_UNSET", None)
    unittest.main()
