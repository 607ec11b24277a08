"""Promise: in a shell that srun started, and in what is submitted from it, programs of one process run as they do
elsewhere; several tasks are one program, or end with a sentence and without a verdict. On real daemons (cluster.sh)."""

import os
import pathlib
import shutil
import tempfile
import unittest

from slurm_cluster import CONFIG, PROGRAMS, ROOT, Cluster, wait_for, why_not

USAGE, RETRY = 64, 75
SHORT = ("--quiet", "--set", "run.steps=2")


class ShellTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason and os.environ.get("REPRISE_NO_SKIPPED_TESTS"):
            raise RuntimeError(reason)
        if reason:
            print(f"skipped: {reason}")
            raise unittest.SkipTest(reason)
        cls.cluster = Cluster(nodes=2)
        cls.addClassCleanup(cls.cluster.close)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="shell_test.")
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)

    def step(self, options, *commands):
        """Runs the commands one after the other in each task of a step. Returns what task 0 got of them: (exit code,
        messages)."""
        script = [f"cd {self.work}"]
        for number, command in enumerate(commands):
            line = " ".join(str(word) for word in command)
            script.append(f"{line} >/dev/null 2>errors.$SLURM_PROCID.{number}")
            script.append(f"echo $? >code.$SLURM_PROCID.{number}")
        self.cluster.run("srun", *options, "bash", "-c", "\n".join([*script, "true"]))
        read = lambda name, number: (self.work / f"{name}.0.{number}").read_text(encoding="utf-8")
        return [(int(read("code", number)), read("errors", number)) for number in range(len(commands))]

    def train(self, name):
        return (PROGRAMS / "train", CONFIG, "--output", name, *SHORT)

    def test_programs_of_one_process_need_no_mpi(self):
        for mpi in ("pmix", "pmi2", "none"):
            programs = (
                self.train(f"{mpi}1"),
                self.train(f"{mpi}2"),
                (PROGRAMS / "reproduce", f"{mpi}1/run.h5", "--quiet"),
                (PROGRAMS / "inspect", f"{mpi}1/run.h5"),
            )
            ends = self.step((f"--mpi={mpi}", "--ntasks=1"), *programs)
            self.assertEqual([code for code, _ in ends], [0, 0, 0, 0], f"{mpi}: {ends}")
        runs = {(self.work / name / "run.h5").read_bytes() for name in ("pmix1", "pmix2", "pmi21", "none1")}
        self.assertEqual(len(runs), 1)

    def test_mpirun_starts_ranks_within_a_step_of_one_task(self):
        mpirun = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2")
        for mpi in ("pmix", "pmi2"):
            ends = self.step((f"--mpi={mpi}", "--ntasks=1"), (*mpirun, *self.train(f"{mpi}1")), self.train(f"{mpi}2"))
            self.assertEqual([code for code, _ in ends], [0, 0], f"{mpi}: {ends}")

    def test_a_second_program_of_several_tasks_ends_with_a_sentence(self):
        first, second = self.step(("--mpi=pmix", "--ntasks=2"), self.train("first"), self.train("second"))
        self.assertEqual(first[0], 0, first)
        self.assertEqual(second[0], RETRY, second)
        self.assertIn("reprise: error: MPI did not start: srun needs --mpi=pmix, every program of several", second[1])
        self.assertFalse((self.work / "second").exists())

    def test_several_tasks_without_an_mpi_that_knows_them_end_with_a_sentence(self):
        ((code, errors),) = self.step(("--mpi=pmi2", "--ntasks=2"), self.train("pmi2"))
        self.assertEqual(code, RETRY, errors)
        self.assertIn("reprise: error: MPI did not start: srun needs --mpi=pmix", errors)
        ((code, errors),) = self.step(("--mpi=none", "--ntasks=2"), self.train("none"))
        self.assertEqual(code, USAGE, errors)
        self.assertIn("srun started 2 tasks without MPI: add --mpi=pmix to srun's options", errors)
        self.assertFalse((self.work / "pmi2").exists() or (self.work / "none").exists())

    def test_a_job_that_is_submitted_from_a_step_is_no_part_of_it(self):
        site = self.work / "test.env"
        site.write_text("TIME=10\n", encoding="utf-8")
        for number, options in enumerate((("--mpi=pmix", "--ntasks=2", "--cpus-per-task=1"), ("--mpi=pmi2",))):
            name = f"job{number}"
            submit = (ROOT / "reprise", "train", *self.train(name)[1:], "--slurm")
            only_once = ("[[ $SLURM_PROCID != 0 ]] ||", *submit, "--site", site)
            ((code, errors),) = self.step(options, only_once)
            self.assertEqual(code, 0, errors)
            wait_for("the end of the job", (self.work / name / "run.h5").exists)
            self.cluster.wait_until_idle()

    def test_a_batch_script_runs_programs_of_one_process(self):
        script = self.work / "script.sh"
        line = " ".join(str(word) for word in self.train("run"))
        script.write_text(f"#!/bin/bash\ncd {self.work} && {line} >/dev/null; echo $? >code.new && mv code.new code\n")
        for options in (("--mpi=pmix",), ("--mpi=pmi2",)):
            sbatch = ("sbatch", "--ntasks=2", f"--output={self.work}/log", script)
            ((code, errors),) = self.step((*options, "--ntasks=1"), sbatch)
            self.assertEqual(code, 0, errors)
            wait_for("the end of the script", (self.work / "code").exists)
            self.assertEqual((self.work / "code").read_text(), "0\n", (self.work / "log").read_text())
            (self.work / "code").unlink()
            shutil.rmtree(self.work / "run")
            self.cluster.wait_until_idle()


if __name__ == "__main__":
    unittest.main(verbosity=2)
