"""Promise: the program of ./reprise gate, from its file to its exit code. The two sides of a gate are scripts that
print a number, and a folder stands for /proc: nothing is timed, so no result depends on the load of this machine."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GATE = (sys.executable, "-B", os.path.realpath("benchmarks/gate/gate.py"))
MACHINE = os.path.realpath("benchmarks/gate/machine")
# Both processors are idle and the ticks in /proc/stat do not change, so the number of runnable tasks decides.
STAT = "cpu  100 0 100 5000 0 0 0 0 0 0\ncpu0 50 0 50 2500 0 0 0 0 0 0\ncpu1 50 0 50 2500 0 0 0 0 0 0\n"
QUIET = "9.50 9.00 8.00 1/300 1\n"  # it was busy, and no longer is
BUSY = "0.00 0.00 0.00 3/300 1\n"


class GateTest(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="gate_test.", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.write("proc/stat", STAT)
        self.write("proc/loadavg", QUIET)
        self.write_script("bazel-bin/benchmarks/gate/machine",
                          """echo '{"instruction_set": "avx512", "processors": 2}'""")

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_script(self, name: str, script: str) -> None:
        self.write(name, f"#!/bin/sh\n{script}\n").chmod(0o700)

    def write_program(self, name: str, seconds: str) -> None:
        """A program that prints `seconds`, plus one thousandth for each call so far."""
        calls = self.root / "calls"
        self.write_script(name, f'echo x >>{calls}\necho "{{\\"s\\": {seconds}$(wc -l <{calls} | tr -d " ")}}"')

    def write_gate(self, denominator: str, bound: str) -> None:
        self.write("gates.toml", '[step]\nclaim = "A step is fast."\nnumerator = "./ours"\nnumerator_value = "s"\n'
                                 f'denominator = "{denominator}"\n{bound}\nrepetitions = 5\n')

    def command(self, *arguments: str) -> list[str]:
        return [*GATE, "--root", str(self.root), "--file", "gates.toml", "--proc", f"{self.root}/proc", *arguments]

    def gate(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = self.command("--patience", "0", *(arguments or ("--quiet",)))
        return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60)

    def assert_ends(self, code: int, *arguments: str, out: str = ".?", err: str = ".?", **variables: str) -> str:
        result = self.gate(*arguments, **variables)
        self.assertEqual(result.returncode, code, result)
        self.assertRegex(result.stdout, out)
        self.assertRegex(result.stderr, err)
        return result.stdout

    def test_a_gate_within_its_bound_holds(self) -> None:
        self.write_program("ours", "1.00")
        self.write_program("theirs", "2.00")
        self.write_gate("./theirs", "at_most = 0.6")
        self.assert_ends(0, out="^held        step .*\nPASS: 1 gate held\n$", err="^$")

    def test_the_same_gate_fails_if_the_other_side_gets_faster(self) -> None:
        self.write_program("ours", "1.00")
        self.write_program("theirs", "1.50")
        self.write_gate("./theirs", "at_most = 0.6")
        self.assert_ends(1, out=r"^fell        step                     0\.66.*expected <= 0\.6  "
                                r"\(by chance: 0\.004; 5 pairs\)\nFAIL: 1 of 1 gates failed: step\n$")

    def test_progress_is_reported_on_stderr(self) -> None:
        self.write_program("ours", "1.00")
        self.write_program("theirs", "2.00")
        self.write_gate("./theirs", "at_most = 0.6")
        self.assert_ends(0, "step", err=r"^instruction set avx512, also for the bounds\nstep: A step is fast\.\n$")

    def test_a_bound_may_depend_on_the_instruction_set_and_a_gate_may_have_none(self) -> None:
        machine = self.root / "bazel-bin/benchmarks/gate/machine"
        machine.unlink()
        machine.symlink_to(MACHINE)  # the real one, which REPRISE_ISA limits
        self.write_program("ours", "1.00")
        self.write_program("theirs", "1.50")
        self.write_gate("./theirs", "at_most = 0.6\nat_most_avx2 = 0.8")
        self.assert_ends(0, REPRISE_ISA="avx2")
        self.write_gate("./theirs", "at_most = 0.8\nat_most_avx2 = 0.6")
        self.assert_ends(1, REPRISE_ISA="avx2")
        self.assert_ends(64, REPRISE_ISA="sse", err="^reprise gate: error: REPRISE_ISA=sse: expected avx2 or avx512\n$")
        self.write_gate("./theirs", "judged = false")
        self.assert_ends(0, out=r"^reported    step                     0\.66.*\nPASS: 0 gates held\n$")

    def test_libtorch_is_limited_to_the_instruction_set_of_the_kernels(self) -> None:
        script = 'echo "$ATEN_CPU_CAPABILITY $ONEDNN_MAX_CPU_ISA $MKL_ENABLE_INSTRUCTIONS" >>limits\necho \'{"s": 1}\''
        self.write_script("ours", script)
        self.write_gate("./ours", "at_most = 2")
        self.assert_ends(0)
        self.write_script("bazel-bin/benchmarks/gate/machine",
                          """echo '{"instruction_set": "avx2", "processors": 2}'""")
        self.assert_ends(0, ONEDNN_MAX_CPU_ISA="AVX")
        limits = (self.root / "limits").read_text(encoding="utf-8").splitlines()
        self.assertEqual((limits[0], limits[-1]), ("  ", "avx2 AVX AVX2"))

    def test_a_loaded_machine_is_rejected_before_anything_runs(self) -> None:
        self.write_program("ours", "1.00")
        self.write_gate("./ours", "at_most = 0.6")
        self.write("proc/loadavg", BUSY)
        self.assert_ends(75, out="^$", err=r"^reprise gate: error: other processes keep 2\.0 of 2 processors busy, .* "
                                           r"wait longer with --patience SECONDS\n$")
        self.assertFalse((self.root / "calls").exists())

    def test_a_gate_is_not_judged_if_other_work_starts_during_its_measurement(self) -> None:
        self.write_program("ours", "1.00")
        self.write_gate("./theirs", "at_most = 2")
        self.write_script("theirs", f"echo '{BUSY.strip()}' >{self.root}/proc/loadavg\necho '{{\"s\": 1}}'")
        self.assert_ends(75, "step", out="\nNOT JUDGED: other processes used the machine during 1 of 1 gates: step\n$",
                         err="(step: other processes use the machine; this look does not count\n){3}$")

    def test_another_commit_can_be_the_baseline(self) -> None:
        self.write_program("ours", "1.50")
        self.write_program("other/ours", "1.00")
        self.write_gate("baseline", "at_most = 1.1")
        against = ("--against", "HEAD~1", "--baseline", f"{self.root}/other")
        self.assert_ends(1, *against, "--json", out=r'^{"event":"gate","name":"step",.*}\n{"event":"verdict",'
                         r'"pass":false,"fell":\["step"\],"uncertain":\[\],"not_judged":\[\]}\n$')
        self.write_program("ours", "1.00")
        self.assert_ends(0, *against)
        self.assert_ends(64, err="no gate to judge; those against the baseline need --against")
        self.assert_ends(64, "--against", "HEAD", err="--against and --baseline need each other")
        self.write_gate("./ours", "at_most = 1.1")
        self.assert_ends(64, *against, err="no gate to judge against another commit")

    def test_directories_are_new_for_each_execution_or_kept_for_the_gate_and_then_removed(self) -> None:
        self.write_script("ours", f'echo "$1 $2" >>{self.root}/seen\necho \'{{"s": 1}}\'')
        self.write_gate("./ours {scratch} {prepared}",
                        'prepare = "/usr/bin/touch {prepared}/model"\nat_most = 2')
        self.assert_ends(0)
        seen = [line.split() for line in (self.root / "seen").read_text(encoding="utf-8").splitlines() if line.strip()]
        self.assertEqual((len({scratch for scratch, _ in seen}), len({prepared for _, prepared in seen})), (6, 1))
        self.assertFalse([path for pair in seen for path in pair if os.path.exists(path)])
        self.write_gate("./ours", 'prepare = "/bin/false"\nat_most = 2')
        self.assert_ends(70, err="^reprise gate: error: step: ended with exit code 1: /bin/false: ")

    def test_a_measurement_that_fails_gives_no_verdict(self) -> None:
        self.write_gate("./theirs", "at_most = 0.6")
        self.assert_ends(64, err=f"^reprise gate: error: step: cannot run {self.root}/./ours: No such file")
        self.write_script("ours", "printf 'bro\\033ken\\n' >&2\nexit 3")
        self.assert_ends(70, out="^$", err=r"step: ended with exit code 3: \./ours: bro\\x1bken\n$")

    def test_a_machine_with_too_few_processors_skips_the_gate(self) -> None:
        self.write_gate("./theirs", "at_most = 0.6\nprocessors = 3")
        self.assert_ends(0, "--json", out='^{"event":"verdict","pass":true',
                         err="step: skipped, because it needs 3 processors\n")

    def test_an_error_of_usage_has_a_sentence(self) -> None:
        self.write_gate("./theirs", "at_most = 0.6")
        explained = r" \(./reprise gate --help explains\)\n$"
        for arguments, sentence in (
            (("nonsense",), 'unknown gate "nonsense"; known are: step\n$'),
            (("--agianst", "x"), rf"unknown option --agianst; did you mean --against\?{explained}"),
            (("--programs=1",), f"--programs: ignored explicit argument '1'{explained}"),
            (("--proc=",), f"--proc has an empty value: perhaps a variable of your shell is not set{explained}"),
            (("--root", "."), f"--root is given more than once{explained}"),
            (("--patience", "1"), f"--patience is given more than once{explained}"),
            (("--against", "--json"), f"--against: expected one argument{explained}"),
        ):
            self.assert_ends(64, *arguments, out="^$", err=f"^reprise gate: error: {sentence}")
        for patience in ("-1", "x", "nan"):
            result = subprocess.run([*GATE, "--patience", patience], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 64)
            self.assertIn(f"error: --patience: {patience}: expected a number, 0 or more (./repr", result.stderr)

    def test_names_and_options_may_be_mixed(self) -> None:
        self.write_program("ours", "1.00")
        self.write_gate("./ours", "at_most = 2")
        self.assert_ends(0, "step", "--json", "step", out='^{"event":"gate"')

    def test_a_file_that_cannot_be_read_is_named(self) -> None:
        self.assert_ends(64, err=f"^reprise gate: error: cannot read {self.root}/gates.toml: No such file")
        (self.root / "gates.toml").mkdir()
        self.assert_ends(64, err=f"cannot read {self.root}/gates.toml: Is a directory")
        (self.root / "gates.toml").rmdir()
        os.mkfifo(self.root / "gates.toml")
        self.assert_ends(65, err=f"cannot read {self.root}/gates.toml: it is not a regular file")
        (self.root / "gates.toml").unlink()
        self.write("gates.toml", "#" * (1 << 20) + "#")
        self.assert_ends(65, err=f"cannot read {self.root}/gates.toml: it has more bytes than the limit of 1048576")

    def test_a_verdict_that_cannot_be_written_is_an_error(self) -> None:
        self.write_gate("./theirs", "at_most = 0.6\nprocessors = 3")
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run(self.command("--quiet"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (74, "reprise gate: error: cannot write to the standard "
                                                                  "output: No space left on device\n"))

    def test_ctrl_c_ends_the_program_that_is_measured_too(self) -> None:
        self.write_script("ours", f"echo $$ >{self.root}/waits; exec sleep 60")
        self.write_gate("./ours", "at_most = 2")
        with subprocess.Popen(self.command(), stderr=subprocess.PIPE) as gate:
            pid_file = self.root / "waits"
            started = lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8").strip()
            while not started() or len(os.listdir(f"/proc/{gate.pid}/task")) < 2:  # it waits when its timer runs
                time.sleep(0.01)
            gate.send_signal(signal.SIGINT)
            _, err = gate.communicate(timeout=10)
        self.assertEqual(gate.returncode, 130)
        self.assertNotIn(b"Traceback", err)
        self.assertFalse(os.path.exists(f"/proc/{pid_file.read_text(encoding='utf-8').strip()}"))

    def test_help_shows_an_example(self) -> None:
        shown = self.assert_ends(0, "--help", out="Example:\n  ./reprise gate --against ")
        self.assertNotIn("--root", shown)

    def test_programs_to_build_are_named(self) -> None:
        (self.root / "bazel-bin/benchmarks/gate/machine").unlink()  # it is built with them
        self.write("gates.toml", '[step]\nclaim = "Fast."\nnumerator = "bazel-bin/a/b x"\nnumerator_value = "seconds"\n'
                                 'denominator = "bazel-bin/c/d x"\nat_most = 1\n')
        self.assert_ends(0, "--programs", out="^//a:b\n//c:d\n$")


if __name__ == "__main__":
    unittest.main()
