"""A server whose network runs on other hosts, too: processes in a private network, at an address of their own."""

import contextlib
import hashlib

import pathlib
import re
import secrets
import signal
import subprocess
import tempfile
import unittest

import millrace
import numpy as np

import labelled_video
from debian_pytorch import in_pytorch
from millrace_testing import client, millrace_process
from network_namespace import NetworkNamespace

ADDRESS = "10.0.0.1"
LEADER = f"{ADDRESS}:29500"
VIDEO = millrace_process.ROOT / ".deps/video/vtest.avi"
# It begins with no motion.
OWN_NETWORK = """
import torch
torch.manual_seed(1)
network = torch.nn.Sequential(torch.nn.Conv2d(6, 8, 3, padding=1), torch.nn.LeakyReLU(0.1), torch.nn.Dropout(0.1),
                              torch.nn.Conv2d(8, 2, 3, padding=1))
torch.nn.init.zeros_(network[3].weight)
torch.nn.init.zeros_(network[3].bias)
torch.jit.script(network).save('{path}')"""
LABELS = {"task": "classification", "outputs": 4, "input": [8, 8], "layers": 4, "width": 32, "window": 16}


def setUpModule():
    NetworkNamespace(addresses=(ADDRESS,)).enter()


class RanksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.secret = millrace_process.ranks_secret(self.folder)

    def config(self, ranks: list[int], checkpoints: str, model: dict | None = None, **source) -> dict:
        schedule = {"kind": "one_f_one_b_star", "stages": 3, "cuts": [1, 2] if model else [2, 5]}
        sections = {"model": model} if model else {}
        if ranks:
            schedule["stages_on"] = ranks
            sections["ranks"] = {"listen": LEADER, "secret_file": str(self.secret)}
        stream = {"name": "street", "source": {"uri": str(VIDEO), **source}, "schedule": schedule,
                  "checkpoints": {"folder": str(self.folder / checkpoints), "every": 200}}
        return millrace_process.config(streams=[stream], **sections)

    @contextlib.contextmanager
    def joined(self, *more: str):
        """A process that joins, with its output in `log`."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder) as log, subprocess.Popen(
                [millrace_process.program(), "join", LEADER, "--secret-file", str(self.secret), *more],
                stdout=log, stderr=subprocess.STDOUT, text=True) as process:
            process.log = pathlib.Path(log.name)
            try:
                yield process
            finally:
                process.kill()

    def join(self, *more: str) -> subprocess.Popen:
        return self.enterContext(self.joined(*more))

    def stage_files(self, checkpoints: str) -> dict[str, str]:
        return {str(file.relative_to(self.folder / checkpoints)):
                hashlib.sha256(file.read_bytes()).hexdigest()
                for file in (self.folder / checkpoints).rglob("*.safetensors")}

    def says(self, server: millrace_process.Server, text: str, times: int = 1) -> str:
        """The server's line with the text, that often."""
        def line() -> str:
            lines = [line for line in server.output if text in line]
            return lines[times - 1] if len(lines) >= times else ""
        return millrace_process.wait_for(f"the line '{text}'", line)

    def metric(self, server: millrace_process.Server, name: str) -> float:
        return client.of_stream(client.get(server.metrics)[1], name, "street")

    def predicts(self, server: millrace_process.Server) -> None:
        """Until it has predicted another frame."""
        name = "millrace_service_frames_predicted_total"
        before = self.metric(server, name)
        millrace_process.wait_for("a prediction", lambda: self.metric(server, name) > before)

    def test_a_file_teaches_what_it_teaches_one_process(self):
        file = {"as_camera": False, "loop": False}
        alone = millrace_process.serve_to_end(self.config([], "alone", **file))
        self.assertEqual(0, alone.code, alone.output)
        followers = [self.join() for _ in range(2)]
        ranks = millrace_process.serve_to_end(self.config([2, 1, 0], "ranks", **file))
        self.assertEqual(0, ranks.code, ranks.output)
        self.assertEqual(alone.summary["predicted"], ranks.summary["predicted"])
        files = self.stage_files("ranks")
        self.assertTrue(files)
        self.assertEqual(self.stage_files("alone"), files)
        # They wait for the next leader, and end at a wish.
        for follower in followers:
            millrace_process.wait_for("the follower", lambda f=follower:
                                      "the run has ended; waiting for a leader" in f.log.read_text())
            follower.terminate()
            self.assertEqual(0, follower.wait(millrace_process.PATIENCE_S), follower.log.read_text())

    def test_a_network_of_ones_own_learns_what_it_learns_in_one_process(self):
        in_pytorch(OWN_NETWORK.format(path=self.folder / "own.pt"))
        model = {"network": str(self.folder / "own.pt"), "input": [64, 64]}
        file = {"as_camera": False, "loop": False}
        self.join()
        for ranks, checkpoints in (([], "alone"), ([1, 1, 0], "ranks")):
            ended = millrace_process.serve_to_end(self.config(ranks, checkpoints, model, **file))
            self.assertEqual(0, ended.code, ended.output)
        files = self.stage_files("ranks")
        self.assertTrue(files)
        self.assertEqual(self.stage_files("alone"), files)

    def labelled(self, begin: int, end: int) -> list[millrace.Frame]:
        samples = labelled_video.digits(4)
        return [millrace.Frame(np.repeat(np.array(values, np.uint8).reshape(8, 8, 1) * 15, 3, axis=2),
                               str(number), label=digit)
                for number, (values, digit) in enumerate(samples[begin:end], begin)]

    def test_labels_teach_what_they_teach_one_process_and_go_on_after_a_killed_host(self):
        follower = self.join()
        learned = []
        for ranks, checkpoints in (([], "alone"), ([1, 1, 0], "ranks")):
            config = self.config(ranks, checkpoints, LABELS, uri="push:")
            with millrace_process.serve(config) as server, millrace.Client(server.grpc) as api:
                outcomes = list(api.push("street", self.labelled(0, 300)))
                self.assertEqual(300, api.stream("street").frames.predicted)
                learned.append([outcome.prediction.outputs.tolist() for outcome in outcomes])
        self.assertEqual(*learned)
        self.assertTrue(self.stage_files("ranks"))
        self.assertEqual(self.stage_files("alone"), self.stage_files("ranks"))
        with millrace_process.serve(self.config([1, 1, 0], "killed", LABELS, uri="push:")) as server, \
                millrace.Client(server.grpc) as api:
            list(api.push("street", self.labelled(0, 100)))
            follower.kill()
            millrace_process.wait_for("the loss", lambda: self.metric(server, "millrace_pipeline_ranks_joined") < 2)
            lost, = api.push("street", self.labelled(100, 101))
            self.assertIs(lost.dropped, millrace.DropReason.RANKS_LOST)
            self.join()
            for outcome in api.push("street", self.labelled(101, 200)):
                self.assertIsNotNone(outcome.prediction, outcome)
                self.assertTrue(outcome.label.added)

    def test_the_next_server_leads_the_same_hosts(self):
        self.join()
        for _ in range(2):
            ranks = millrace_process.serve_to_end(self.config([1, 1, 0], "ranks"), "--frames", "40")
            self.assertEqual(0, ranks.code, ranks.output)
        self.assertRegex(ranks.output, r"from \S+/checkpoint-\d+\n +where it ended after 4\d frames")

    def test_a_killed_host_is_named_and_another_takes_its_place(self):
        follower = self.join()
        with millrace_process.serve(self.config([1, 1, 0], "killed")) as server:
            self.predicts(server)
            with millrace.Client(server.grpc) as api:
                predictions = api.predictions("street")
                next(predictions)
                follower.kill()
                line = self.says(server, "is lost")
                self.assertIn(f"stream 'street': waiting for 1 process: rank 1 (process {follower.pid} on ", line)
                stream = api.stream("street")
                self.assertIs(stream.learner_state, millrace.LearnerState.WAITING_FOR_RANKS)
                self.assertIn("is lost", stream.learner_cause)
                self.assertIn("street: waiting for 1 process: rank 1", client.get(server.metrics.replace("/metrics", "/readyz"))[1])
                self.assertIn("learner waiting for other hosts", self.watched(server))
                self.join()
                # The same subscription goes on.
                last = next(predictions).frame_number
                millrace_process.wait_for("a later prediction", lambda: next(predictions).frame_number > last + 5)
            self.assertEqual(1, self.metric(server, "millrace_pipeline_ranks_lost_total"))
            self.assertEqual(2, self.metric(server, "millrace_pipeline_ranks_joined"))
            self.says(server, "all hosts have joined; it learns", times=2)
        self.assertGreater(server.summary["dropped"]["ranks_lost"], 0)
        self.assertEqual(0, server.summary["dropped"]["rejected"])
        self.assertEqual(server.summary["frames_received"],
                         server.summary["predicted"] + sum(server.summary["dropped"].values()))

    def watched(self, server: millrace_process.Server) -> str:
        """What `millrace watch` says first."""
        with subprocess.Popen([millrace_process.program(), "watch", server.grpc, "--stream", "street"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as watch:
            lines = []
            for line in watch.stdout:
                lines.append(line)
                if "street  " in line:
                    break
            watch.kill()
            return "".join(lines)

    def test_a_frozen_host_is_lost_and_comes_back(self):
        follower = self.join()
        config = self.config([1, 1, 0], "frozen")
        config["ranks"]["lost_after_s"] = 1.5
        with millrace_process.serve(config) as server:
            self.predicts(server)
            follower.send_signal(signal.SIGSTOP)
            self.says(server, "is lost: no sign of life for 1.5 s")
            follower.send_signal(signal.SIGCONT)
            self.predicts(server)

    def test_a_process_that_is_asked_to_end_is_waited_for(self):
        follower = self.join()
        with millrace_process.serve(self.config([1, 1, 0], "asked")) as server:
            self.predicts(server)
            follower.terminate()
            self.assertEqual(0, follower.wait(millrace_process.PATIENCE_S))
            self.says(server, "): it was asked to end")
            self.join()
            self.predicts(server)

    def test_a_server_stands_and_counts_frames_before_its_hosts_join(self):
        with millrace_process.serve(self.config([1, 1, 0], "alone", as_camera=True)) as server:
            millrace_process.wait_for("dropped frames", lambda: self.metric(
                server, "millrace_service_frames_dropped_total") > 3)
            self.assertEqual(7, self.metric(server, "millrace_pipeline_learner_state"))
            self.assertEqual(1, self.metric(server, "millrace_pipeline_ranks_joined"))
        self.assertGreater(server.summary["dropped"]["ranks_lost"], 2)

    def test_a_killed_leader_leaves_hosts_that_wait_for_the_next(self):
        follower = self.join()
        with millrace_process.start(self.config([1, 1, 0], "leader")) as (process, _):
            self.predicts(millrace_process.stands(process))
            process.kill()
            # Before the leader there was, it said that it waits, too.
            millrace_process.wait_for("the follower", lambda: re.search(
                r"rank 0 \(process .*waiting for a leader", follower.log.read_text()))
        ranks = millrace_process.serve_to_end(self.config([1, 1, 0], "leader"), "--frames", "20")
        self.assertEqual(0, ranks.code, ranks.output)

    def test_another_secret_is_refused_on_both_sides(self):
        other = self.folder / "other.secret"
        other.touch(mode=0o600)
        other.write_text(secrets.token_hex(32))
        with millrace_process.start(self.config([1, 1, 0], "secret")) as (process, _):
            wrong = subprocess.run(
                [millrace_process.program(), "join", LEADER, "--secret-file", str(other)],
                capture_output=True, text=True, timeout=millrace_process.PATIENCE_S, check=False)
            self.assertEqual(1, wrong.returncode, wrong.stderr)
            self.assertIn("the leader has another secret", wrong.stderr)
            self.join()
            server = millrace_process.stands(process)
            self.assertIn("ranks: not joined: a process that asked to join: it does not have this secret",
                          "".join(server.output))

    def test_a_stop_ends_the_wait_for_hosts(self):
        with millrace_process.start(self.config([1, 1, 0], "stop")) as (process, _):
            server = millrace_process.stands(process)
            line = self.says(server, "waiting for 1 other host")
            self.assertIn(f"millrace join {LEADER} --secret-file FILE", line)
            process.terminate()
            self.assertEqual(0, process.wait(millrace_process.PATIENCE_S))

    def test_a_port_in_use_is_said_before_anything_is_measured(self):
        config = self.config([1, 1, 0], "port")
        config["ranks"]["listen"] = "192.0.2.7:29500"
        ended = millrace_process.serve_to_end(config)
        self.assertNotEqual(0, ended.code)
        self.assertIn("ranks: cannot listen on 192.0.2.7:29500: this host does not have that address",
                      ended.output)
        self.assertNotIn("measuring", ended.output)



if __name__ == "__main__":
    unittest.main()
