"""Promise: a job of a Slurm cluster ends in the bytes of a run on one rank, whatever happens to its nodes, its ranks and
its time, and repeats at most one step; a sweep ends in the table of one process. On real daemons, with nodes that are
namespaces of this machine (cluster.sh)."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from faults import FAULTS, Trials, files_of
from slurm_cluster import PROGRAMS, SWEEP, Job, SweepJob, TrainJob, table_of, wait_for, why_not

directory = tempfile.TemporaryDirectory(prefix="slurm_test.")
trials = Trials(directory.name)


def setUpModule():
    unittest.addModuleCleanup(directory.cleanup)  # called in reverse order, also after a skip
    unittest.addModuleCleanup(trials.close)
    reason = why_not()
    if reason and os.environ.get("REPRISE_NO_SKIPPED_TESTS"):
        raise RuntimeError(reason)
    if reason:
        print(f"skipped: {reason}")
        raise unittest.SkipTest(reason)


class SlurmTest(unittest.TestCase):
    def survives(self, fault):
        trial = trials.run(fault)
        print(f"{fault}: {trial.seconds:.1f} s, {trial.steps_redone} steps redone", flush=True)

    def test_two_nodes_train_the_bytes_of_one_rank(self):
        self.survives("nothing")

    def test_a_preempted_job_goes_on_when_the_nodes_are_free_again(self):
        self.survives("preemption")

    def test_a_job_that_an_operator_requeues_goes_on(self):
        self.survives("scontrol requeue")

    def test_a_job_goes_on_when_a_node_is_set_down(self):
        self.survives("node set down")

    def test_ranks_that_survive_their_slurmd_do_not_disturb_those_that_replace_them(self):
        self.survives("slurmd killed")

    def test_a_job_goes_on_without_a_dead_node(self):
        self.survives("node killed")

    def test_a_writer_that_was_cut_off_adds_nothing_when_another_one_has_taken_over(self):
        self.survives("partition")

    def test_a_job_goes_on_when_a_rank_is_killed(self):
        self.survives("rank killed")

    def test_a_job_goes_on_when_the_rank_that_writes_is_killed(self):
        self.survives("rank 0 killed")

    def test_a_stopped_rank_is_noticed_and_its_job_goes_on_without_it(self):
        self.survives("rank stopped")

    def test_three_executions_share_the_work_that_exceeds_a_time_limit(self):
        self.survives("time limit")

    def test_a_printed_script_is_submitted_by_hand_with_the_options_of_the_command_line(self):
        work = trials.new_directory()
        options = ("--time", "12", "--partition", "low")
        site = ("TIME=10", f"SBATCH_OPTIONS=--chdir={work}")  # its log would be in the checkout
        job = TrainJob(trials.running_cluster(), work, options, site=site, by_hand=True)
        self.assertEqual(job.wait_for_end(), "COMPLETED")
        self.assertEqual(files_of(job.output), trials.expected(()))
        self.assertEqual((job.fields()["Partition"], job.fields()["TimeLimit"]), ("low", "00:12:00"))
        self.assertIn("weights sha256:", job.log())

    def test_a_cancelled_job_is_not_queued_again(self):
        cluster = trials.running_cluster()
        job = TrainJob(cluster, trials.new_directory())
        job.wait_for_step(1)
        cluster.run("scancel", job.number)
        self.assertEqual(job.wait_for_end(), "CANCELLED")
        self.assertNotIn("requeueing", job.log())

    def test_another_job_continues_where_jobs_may_not_be_queued_again(self):
        cluster = trials.running_cluster()
        job = TrainJob(cluster, trials.new_directory(), site=("TIME=10", "SBATCH_OPTIONS=--no-requeue"))
        job.wait_for_step(1)
        cluster.run("scancel", "--signal=USR1", "--batch", job.number)
        wait_for("the end of the second job", (job.output / "run.h5").exists)
        cluster.wait_until_idle()
        self.assertEqual(files_of(job.output), trials.expected(()))
        self.assertEqual(len({line.split()[1] for line in job.executions()}), 2)

    def test_an_evaluation_on_two_nodes_prints_what_one_rank_prints(self):
        trials.expected(())
        evaluate = ("evaluate", trials.directory / "one_rank.0/run.h5", "--samples", "2", "--quiet")
        alone = subprocess.run([PROGRAMS / "evaluate", *evaluate[1:]], capture_output=True, text=True, check=True)
        work = trials.new_directory()
        job = Job(trials.running_cluster(), work, *evaluate, site=("TIME=10", f"SBATCH_OPTIONS=--chdir={work}"))
        self.assertEqual(job.wait_for_end(), "COMPLETED")
        self.assertIn(alone.stdout, job.log())

    def test_every_fault_has_a_test(self):
        source = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.assertEqual([fault for fault in FAULTS if f'self.survives("{fault}")' not in source], [])


class SweepTest(unittest.TestCase):
    """A node dies while trials are executed on it: the others are kept, and the table is that of one process."""

    quiet = None  # the table of one process

    @classmethod
    def setUpClass(cls):
        directory = trials.new_directory()
        subprocess.run([PROGRAMS / "sweep", SWEEP, "--output", directory, "--quiet"], check=True, capture_output=True)
        cls.quiet = table_of(directory)

    def survives_a_dead_node(self, executions, *arguments, **options):
        cluster = trials.running_cluster()
        job = SweepJob(cluster, trials.new_directory(), arguments, **options)
        job.wait_for_trials(1)
        cluster("kill-node", "2")
        job.wait_for_execution(executions)
        cluster("start-node", "2")
        self.assertEqual(job.wait_for_table(), self.quiet)
        cluster.wait_until_idle()

    def test_a_sweep_on_the_nodes_of_one_job_goes_on_without_a_dead_node(self):
        self.survives_a_dead_node(1, "--teams", "1")

    def test_a_sweep_as_a_job_array_goes_on_without_a_dead_node(self):
        self.survives_a_dead_node(2, "--array", "2", nodes=1)


def load_tests(loader, tests, pattern):
    """Bazel starts a process for each shard: one for the longest test, which waits, one for the sweeps, others share the
    rest."""
    del loader, pattern
    if "TEST_SHARD_STATUS_FILE" in os.environ:
        open(os.environ["TEST_SHARD_STATUS_FILE"], "w").close()
    every = [test for suite in tests for test in suite]
    shards, shard = int(os.environ.get("TEST_TOTAL_SHARDS", "1")), int(os.environ.get("TEST_SHARD_INDEX", "0"))
    if shards < 3:
        return unittest.TestSuite(every[shard::shards])
    alone = [[test for test in every if "time_limit" in test.id()], [test for test in every if "SweepTest" in test.id()]]
    rest = [test for test in every if test not in alone[0] + alone[1]]
    return unittest.TestSuite(alone[shard] if shard < 2 else rest[shard - 2 :: shards - 2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
