"""The program's command line: help, errors, exit codes."""

import datetime
import json
import os
import pathlib
import pty
import re
import socket
import subprocess
import tempfile
import unittest

from millrace_testing import certificates, millrace_process, terminal
from millrace_testing.millrace_process import run

CONFIG = """\
version: 1
listen: {{grpc_port: 0, http_port: {port}, metrics_port: 0}}
model: {{network: flow, input: [64, 64]}}
schedule: {{kind: one_f_one_b_star, stages: 2}}
streams:
  - name: ball
    source: {{uri: "{uri}"}}
"""


def part_of(help_text: str, *titles: str) -> list[str]:
    """The entries below these headings of --help, each with all its lines."""
    entries = []
    inside = False
    for line in help_text.splitlines():
        if re.match(r"\S.*:$", line):
            inside = line[:-1] in titles
        elif not line.strip():
            inside = False
        elif inside and re.match(r"  \S", line):
            entries.append(line)
        elif inside:
            entries[-1] += line
    return entries


def options_of(help_text: str) -> list[str]:
    return [" ".join(entry.split()) for entry in part_of(help_text, "Positionals", "Options")]


def every_command(path: tuple[str, ...] = ()):
    """Each with its full name, the program itself first."""
    yield path
    for entry in part_of(run(*path, "--help").stdout, "Subcommands"):
        yield from every_command((*path, entry.split()[0]))


def solid(text: str) -> str:
    """Without what depends on where lines are broken."""
    return "".join(text.split())


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-cli.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def config(self, uri="test:ball", port=0, more=""):
        path = self.folder / "config.yaml"
        path.write_text(CONFIG.format(uri=uri, port=port) + more)
        return str(path)

    def assert_usage(self, result, *parts):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_help_says_what_each_command_does_with_an_example(self):
        overview = run("--help")
        self.assertEqual(overview.returncode, 0)
        commands = re.findall(r"^  ([a-z-]+)  ", overview.stdout.split("Subcommands:")[1], re.M)
        self.assertEqual(commands, ["init", "serve", "watch", "check-config", "pretrain", "plan", "replay", "join",
                                    "bench", "export", "evaluate", "man", "completion"])
        for command in ("flow", "labels"):
            self.assertIn(f"  {command}  ", run("evaluate", "--help").stdout)
        for command in [*commands, "evaluate flow", "evaluate labels"]:
            help_text = run(*command.split(), "--help")
            self.assertEqual(help_text.returncode, 0)
            self.assertIn("Example", help_text.stdout, command)
            self.assertIn(f"millrace {command}", help_text.stdout)

    def test_help_fits_a_terminal(self):
        for command in ("", "init", "serve", "watch", "check-config", "pretrain", "plan", "replay", "join", "bench",
                        "export", "evaluate", "evaluate flow", "evaluate labels", "man", "completion"):
            for line in run(*command.split(), "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 100, f"{command}: {line}")

    def test_help_says_what_every_exit_code_means(self):
        for code in ("  0  ", "  1  ", "  2  ", "  3  ", "  130, 143  "):
            self.assertIn(f"\n{code}", run("--help").stdout)

    def manual(self) -> str:
        """As it is shown."""
        page = run("man")
        self.assertEqual(page.returncode, 0, page.stderr)
        # Without hyphens of its own, on lines that are long enough for the longest word.
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-P-c", "-ww", "-rHY=0", "-rLL=200n"],
                               input=page.stdout, text=True, capture_output=True, check=True)
        self.assertEqual(shown.stderr, "")
        # Bold is a letter upon itself; hyphens are as they are typed.
        return re.sub(r".\x08", "", shown.stdout).translate({0x2212: "-", 0x2010: "-"})

    def test_the_manual_says_what_help_says_of_every_command(self):
        manual = self.manual()
        overview, *parts = re.split(r"(?m)^   millrace ", manual)
        chapters = {tuple(part.split("\n")[0].split()): solid(part) for part in parts}
        chapters[()] = solid(overview)
        commands = list(every_command())
        self.assertIn(("evaluate", "flow"), commands)
        self.assertEqual(sorted(chapters), sorted(commands))
        for command in commands:
            text = run(*command, "--help").stdout
            for option in options_of(text):
                if command and option.startswith("-h,--help"):
                    continue  # Said once.
                with self.subTest(command=command, option=option):
                    self.assertIn(solid(option), chapters[command])
        self.assertIn("a GPU failed, or its memory is full", manual)

    def completions(self, line, shell=("bash", "-c"), begin=""):
        """What the shell is offered where `line` ends."""
        script = f"""
            {begin}
            eval "$({millrace_process.program()} completion)"
            COMP_WORDS=({line})
            {'COMP_WORDS+=("")' if line.endswith(' ') else ''}
            COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
            _millrace
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        said = subprocess.run([*shell, script], cwd=self.folder, text=True, capture_output=True,
                              check=True)
        self.assertEqual(said.stderr, "")
        return said.stdout.split()

    def test_bash_completes_commands_options_values_and_files(self):
        self.assertIn("serve", self.completions("millrace "))
        self.assertEqual(self.completions("millrace check"), ["check-config"])
        self.assertEqual(self.completions("millrace watch --to"), ["--token-file"])
        self.assertEqual(self.completions("millrace evaluate fl"), ["flow"])
        self.assertIn("census", self.completions("millrace pretrain --loss "))
        self.config()
        self.assertEqual(self.completions("millrace check-config con"), ["config.yaml"])

    def test_bash_completes_schedules_wherever_one_is_taken(self):
        for line in ("plan --schedule", "replay --schedule", "bench --schedules", "evaluate flow --schedules",
                     "evaluate labels --schedules"):
            self.assertEqual(self.completions(f"millrace {line} part"), ["partime"])
            self.assertIn("one_f_one_b_star", self.completions(f"millrace {line} "))
            self.assertEqual(self.completions(f"millrace {line} = part"), ["partime"], "as bash takes --schedule=part apart")
        self.assertIn("auto", self.completions("millrace plan --schedule "))
        self.assertEqual(self.completions("millrace bench --schedules sequential,part"), ["sequential,partime"])
        self.assertNotIn("partime,partime", self.completions("millrace bench --schedules partime,"))
        self.assertEqual(self.completions("millrace completion z"), ["zsh"])

    def test_completion_works_as_a_user_sources_it(self):
        """Keys are typed into a bash as it comes."""
        directory = os.path.dirname(millrace_process.program())
        master, slave = pty.openpty()
        with subprocess.Popen(["bash", "--noprofile", "--norc", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=self.folder,
                              start_new_session=True, env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "TERM": "dumb",
                                                           "PS1": "$ ", "INPUTRC": "/dev/null"}) as shell:
            os.close(slave)
            for typed, shown in (("source <(millrace completion bash); echo rea''dy\n", "ready"),
                                 ("millrace bench --schedules sequential,part\t", "sequential,partime"),
                                 ("\x15millrace plan --schedule=gpi\t", "--schedule=gpipe")):
                os.write(master, typed.encode())
                terminal.read_until(master, shown)
            os.write(master, b"\x15exit\n")
            shell.wait(millrace_process.PATIENCE_S)
        os.close(master)

    def test_both_shells_are_named_and_no_other(self):
        for shell in ("bash", "zsh"):
            script = run("completion", shell)
            self.assertEqual((script.returncode, script.stderr), (0, ""))
            subprocess.run([shell, "-n"], input=script.stdout, text=True, check=True)
        self.assert_usage(run("completion", "fish"), "there is no 'fish'", "bash, zsh")

    def test_zsh_is_offered_the_same(self):
        def offered(line):
            """zsh leaves out by itself what does not begin as `line` ends."""
            return self.completions(line, ("zsh", "-f", "-c"), """
                autoload -U +X compinit bashcompinit; compinit -u -D; bashcompinit
                setopt ksharrays""")

        self.assertIn("serve", offered("millrace "))
        self.assertIn("flow", offered("millrace evaluate "))
        self.assertIn("--token-file", offered("millrace watch --to"))
        self.assertIn("census", offered("millrace pretrain --loss "))
        self.config()
        self.assertIn("config.yaml", offered("millrace check-config "))

    def test_the_log_is_json_where_programs_read_it(self):
        result = run("serve", "--config", self.config(), "--frames", "5", "--no-progress",
                     env={**os.environ, "MILLRACE_LOG_FORMAT": "json"})
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertEqual([key for key in line if key != "stream"], ["time", "level", "message"])
            datetime.datetime.fromisoformat(line["time"])
        of_the_stream = {line["message"] for line in lines if line.get("stream") == "ball"}
        for message in ("ball: measuring how fast this machine learns", "stream 'ball': test:ball: connecting"):
            self.assertIn(message, of_the_stream)

    def test_verbose_adds_the_plan(self):
        for options in ((), ("--verbose",)):
            result = run("serve", "--config", self.config(), "--frames", "5", *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            for part in ("  plan ", "  stages ", "  staleness "):
                self.assertEqual(part in result.stdout, bool(options), result.stdout)

    def test_the_log_is_json_when_it_fails(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            path = pathlib.Path(self.config(more="colour: blue\nsauce: red\n"))
            port = pathlib.Path(self.folder / "port.yaml")
            port.write_text(CONFIG.format(uri="test:ball", port=0).replace(
                "grpc_port: 0", f"grpc_port: {taken.getsockname()[1]}"))
            for config, code, parts in ((path, 2, ("colour", "sauce")), (port, 1, ("listen.grpc_port: ", "in use"))):
                result = run("serve", "--config", str(config), "--frames", "5", "--no-progress",
                             env={**os.environ, "MILLRACE_LOG_FORMAT": "json"})
                self.assertEqual(result.returncode, code, result.stderr)
                lines = [json.loads(line) for line in result.stderr.splitlines()]
                for part in parts:
                    self.assertTrue(any(line["level"] == "error" and part in line["message"]
                                        for line in lines), result.stderr)

    def test_the_log_names_every_error_of_a_configuration_however_alike(self):
        more = "".join(f"  - {{name: {name}, source: {{uri: 'test:ball', queue: no}}}}\n" for name in "abc")
        result = run("serve", "--config", self.config(more=more))
        self.assert_usage(result, "'queue' is 'no'")
        self.assertEqual(result.stderr.count("'queue' is 'no'"), 3, result.stderr)

    def test_a_level_that_is_none_does_not_silence_the_log(self):
        result = run("serve", "--config", "no/such.yaml", env={**os.environ, "MILLRACE_LOG": "verbose"})
        self.assert_usage(result, "MILLRACE_LOG is 'verbose'", "no/such.yaml")

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^millrace \d+\.\d+\.\d+\n$")

    def test_bad_usage(self):
        self.assert_usage(run())
        self.assert_usage(run("dance"))
        self.assert_usage(run("serve"), "--config")
        self.assert_usage(run("serve", "--config", "x", "--frames", "many"), "--frames")
        self.assert_usage(run("pretrain", "--frames", "5"), "--output")

    def test_a_wrong_command_line_says_what_there_is(self):
        self.assert_usage(run(), "millrace: a command is missing: one of init, serve, watch,")
        self.assert_usage(run("dance"), "millrace: there is no command 'dance'; there are init, serve, watch,",
                          "\nmillrace --help ")
        self.assert_usage(run("evaluate", "dance"), "millrace evaluate: there is no command 'dance'; "
                          "there are flow, labels\nmillrace evaluate --help ")
        self.assert_usage(run("serve", "--config", "x", "--frame", "5"),
                          "millrace serve: there is no option '--frame'; did you mean '--frames'? there are --help, --config,",
                          "\nmillrace serve --help ")

    def test_what_was_meant_is_said_of_every_command_and_option(self):
        for command in every_command():
            options = run(*command, "--help").stdout
            known = set(re.findall(r"(?<=[ ,])--[a-z0-9-]{5,}", "\n".join(part_of(options, "Options"))))
            for option in sorted(known)[::5]:
                meant = option[:-2] + option[-1]  # A letter is missing.
                if f"{meant} " in options:
                    continue
                with self.subTest(command=command, option=option):
                    result = run(*command, meant, "1")
                    self.assert_usage(result, f"there is no option '{meant}'; did you mean '--")
            if len(command) > 0:
                wrong = (*command[:-1], command[-1][:-1] + "x")
                self.assert_usage(run(*wrong), f"there is no command '{wrong[-1]}'; did you mean '")

    def test_what_was_meant_is_said_of_a_schedule(self):
        for command in (("plan", "--schedule"), ("replay", "--schedule"), ("bench", "--schedules"),
                        ("evaluate", "flow", "generated", "--schedules"), ("evaluate", "labels", "--schedules")):
            self.assert_usage(run(*command, "partimes"), "there is no 'partimes'; did you mean 'partime'?")

    def test_counts_below_what_can_be_are_refused_in_words(self):
        for arguments in (("watch", "--count", "-1"), ("watch", "-n", "-1"), ("watch", "--count=-1"), ("watch", "--count", "1.5"),
                          ("watch", "--count", "many"), ("watch", "--count", "99999999999999999999"),
                          ("serve", "--config", "x", "--frames", "-1"), ("pretrain", "--output", "x", "--seed", "-1"),
                          ("pretrain", "--output", "x", "--width", "-64"), ("pretrain", "--output", "x", "--frames", "0"),
                          ("bench", "--turns", "0"), ("bench", "--samples", "-1"), ("plan", "--devices", "0"),
                          ("replay", "--model", "m", "--samples", "s", "--out", "o", "--switch-at", "0")):
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                name = next(one for one in reversed(arguments) if one.startswith("-") and not one[1:].isdigit())
                self.assertIn(name.split("=")[0].lstrip("-")[:5], result.stderr)

    def test_replay_says_what_is_missing(self):
        self.assert_usage(run("replay", "--model", "m.pt"), "--samples")
        result = run("replay", "--model", "nowhere.pt", "--samples", "s.pt", "--out", "o.pt")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no model nowhere.pt", result.stderr)

    def test_replay_has_the_optimizers_of_torch(self):
        self.assertIn("--clip-update FLOAT=0 ", run("replay", "--help").stdout)
        self.assertIn("--clip-update FLOAT=1 ", run("evaluate", "flow", "--help").stdout)

    def test_pretrain_refuses_bad_options_before_any_work(self):
        result = run("pretrain", "--output", str(self.folder / "w.pt"), "--width", "50")
        self.assertEqual(result.returncode, 2)
        self.assertIn("width", result.stderr)

    def test_check_config_says_what_would_run(self):
        result = run("check-config", self.config())
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("OK", "ball", "test:ball", "64x64", "one_f_one_b_star, 2 stages"):
            self.assertIn(part, result.stdout)

    def secure_config(self, tokens, mode=0o600):
        file = self.folder / "tokens"
        file.write_text(tokens)
        file.chmod(mode)
        path = pathlib.Path(self.config())
        path.write_text(path.read_text().replace("listen: {", f"listen: {{tokens_file: {file}, "))
        return str(path)

    def test_check_config_says_who_may_call_and_no_secret(self):
        result = run("check-config", self.secure_config("view hidden-0123456789\n"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("  gRPC      127.0.0.1:0, plain text, tokens, control from this machine only\n",
                      result.stdout)
        self.assertNotIn("hidden", result.stdout + result.stderr)

    def test_check_config_says_who_reaches_the_page_and_the_metrics(self):
        certificates.make_certificate(self.folder, "millrace.test")
        tls = f"tls: {{certificate: {self.folder}/certificate.pem, key: {self.folder}/key.pem}}"
        path = pathlib.Path(self.config())
        text = path.read_text()
        for allowed, address, whom in (("", "127.0.0.1", "this machine only"),
                                       (", allow_plain_text: true", "0.0.0.0", "every machine that reaches it")):
            path.write_text(text.replace("listen: {", f"listen: {{address: 0.0.0.0, {tls}{allowed}, "))
            result = run("check-config", str(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            for part in ("gRPC      0.0.0.0:0, TLS, control from this machine only",
                         f"page      {address}:0, plain text for {whom}, at most 16 viewers",
                         f"metrics   {address}:0, plain text for {whom}"):
                self.assertIn(f"  {part}\n", result.stdout)

    def test_tokens_that_cannot_be_used_are_named_and_not_shown(self):
        for tokens, mode, part in (
            ("view hidden\n", 0o600, "tokens:1: the token is shorter than 16 characters"),
            ("hidden-0123456789\n", 0o600, "tokens:1: the line must be"),
            ("view hidden-0123456789\n", 0o644, "chmod 600"),
        ):
            path = self.secure_config(tokens, mode)
            for command in (("check-config", path), ("serve", "--config", path)):
                result = run(*command)
                self.assert_usage(result, "listen.tokens_file", part)
                self.assertNotIn("hidden", result.stderr)

    def test_check_config_names_unknown_keys_with_line_and_column(self):
        path = self.config(more="colour: blue\n")
        result = run("check-config", path)
        self.assert_usage(result, f"{path}:8:1", "colour")
        self.assert_usage(run("serve", "--config", path), f"{path}:8:1")

    def test_check_config_names_files_that_are_not_there(self):
        self.assert_usage(run("check-config", self.config(uri="no/such.avi")), "no/such.avi")
        of_labels = "model: {task: classification, outputs: 2, "
        for keys, missing in (
            ("model: {network: nowhere.pt}", "/nowhere.pt"),
            ("model: {weights: nowhere.safetensors}", "/nowhere.safetensors"),
            (of_labels + "network: nowhere.pt}", "/nowhere.pt"),
            (of_labels + "network: mlp, weights: nowhere.safetensors}", "/nowhere.safetensors"),
            ("source: {uri: 'rtsp://camera/1', user: me, password_file: nowhere.txt}", "/nowhere.txt"),
            ("source: {uri: 'rtsps://camera/1', tls_ca_file: nowhere.pem}", "/nowhere.pem"),
        ):
            source = "" if "source" in keys else "source: {uri: 'test:'}, "
            with self.subTest(keys):
                file = self.config(more=f"  - {{name: other, {source}{keys}}}\n")
                self.assert_usage(run("check-config", file), f"{file}:8:", missing)

    def test_a_budget_that_does_not_do_is_no_fault_of_a_gpu(self):
        more = "  - {name: other, source: {uri: 'test:'}, model: {input: [256, 192]}}\nbudget: {cores: 0.1}\n"
        result = run("serve", "--config", self.config(more=more), "--no-progress")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("cores are needed", result.stderr)

    def test_serve_refuses_a_missing_configuration(self):
        self.assert_usage(run("serve", "--config", "no/such.yaml"), "no/such.yaml")

    def test_serve_refuses_a_summary_that_it_could_not_write(self):
        self.assert_usage(
            run("serve", "--config", self.config(), "--summary-json", "/no/such/folder/s.json"),
            "/no/such/folder")

    def test_watch_sends_no_token_in_plain_text_to_others(self):
        with tempfile.NamedTemporaryFile("w") as token:
            token.write("a-token-that-is-kept-secret\n")
            token.flush()
            result = run("watch", "192.0.2.1:50051", "--token-file", token.name)
        self.assertEqual(result.returncode, 2)
        self.assertIn("plain text; add --tls", result.stderr)
        self.assertNotIn("secret", result.stderr)

    def test_watch_says_that_no_server_is_there(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # Bound but not listening: no other process can answer there.
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            result = run("watch", address)
        self.assertEqual(result.returncode, 1)
        self.assertIn(address, result.stderr)


if __name__ == "__main__":
    unittest.main()
