"""A cluster of cluster.sh, and jobs on it that ./reprise submits."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path.cwd()  # the checkout, or a test's runfiles
SCRIPT = ROOT / "tests/slurm/cluster.sh"
CONFIG = ROOT / "tests/slurm/run.toml"
SWEEP = ROOT / "tests/slurm/sweep.toml"
BUILT = ROOT / "bazel-bin/pipelines"
PROGRAMS = pathlib.Path(os.environ.get("REPRISE_PROGRAMS", BUILT if BUILT.exists() else ROOT / "pipelines"))
LIMIT_SECONDS = 120  # of every wait; none takes half of it
STEPS = 60  # of run.toml


class Failure(Exception):
    """What a trial was not expected to do."""


def wait_for(what, condition, limit=LIMIT_SECONDS):
    """Returns the first true value of condition(), which is called often."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise Failure(f"not after {limit} s: {what}")


def why_not():
    """One sentence on why this machine cannot run a cluster; empty if it can."""
    checked = subprocess.run([SCRIPT, "check"], capture_output=True, text=True, check=False)
    return checked.stderr.strip()


class Cluster:
    """Nodes rn1 to rnN, until close() or the end of this process."""

    def __init__(self, nodes=3):
        self.directory = tempfile.mkdtemp(prefix="slurm.", dir="/tmp")
        self.nodes = nodes
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SLURM_")},
            "CLUSTER_DIR": self.directory,
            "CLUSTER_OWNER": str(os.getpid()),
            "REPRISE_PROGRAMS": str(PROGRAMS),
            "OMPI_MCA_mpi_yield_when_idle": "1",  # all nodes share this machine's processors
        }
        self("up", str(nodes))

    def __call__(self, *arguments, **options):
        """Runs a verb of cluster.sh and returns what it printed."""
        done = subprocess.run(
            [SCRIPT, *arguments], env=self.environment, capture_output=True, text=True, check=False, **options
        )
        if done.returncode != 0:
            raise Failure(f"cluster.sh {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr}")
        return done.stdout

    def run(self, *command):
        """Runs a command on the controller and returns what it printed."""
        return self("run", *command)

    def wait_until_idle(self):
        idle = ("sinfo", "-h", "-N", "-p", "low", "-t", "idle", "-o", "%n")
        wait_for("all nodes are idle", lambda: len(set(self.run(*idle).split())) == self.nodes)

    def processes(self, program="train"):
        """The processes of a program in this cluster: {pid: environment}."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if pathlib.Path(os.readlink(process / "exe")).name != program:
                    continue
                words = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            environment = dict(word.split("=", 1) for word in words if "=" in word)
            if environment.get("SLURM_CONF", "").startswith(self.directory + "/"):
                found[int(process.name)] = environment
        return found

    def rank(self, number, program="train"):
        """The process id of such a rank of a job."""
        for pid, environment in self.processes(program).items():
            if environment.get("SLURM_PROCID") == str(number):
                return pid
        raise Failure(f"rank {number} is not running")

    def close(self):
        self("down")
        shutil.rmtree(self.directory, ignore_errors=True)


class Job:
    """A verb that ./reprise submits, or by hand a script that it prints. The site file has `site`, a line a key."""

    output = None  # the directory that it writes

    def __init__(self, cluster, work, *arguments, nodes=2, ranks_per_node=2, site=("TIME=10",), by_hand=False):
        self.cluster = cluster
        site_file = pathlib.Path(work) / "test.env"
        site_file.write_text("".join(f"{line}\n" for line in site), encoding="utf-8")
        size = ("--nodes", str(nodes), "--ranks-per-node", str(ranks_per_node))
        command = (ROOT / "reprise", *arguments, "--slurm", *size, "--site", site_file)
        if by_hand:
            script = pathlib.Path(work) / "job.sh"
            script.write_text(cluster.run(*command, "--dry-run"), encoding="utf-8")
            command = ("sbatch", "--parsable", script)
        self.number = cluster.run(*command).strip()

    def fields(self):
        """What `scontrol show job` says."""
        text = self.cluster.run("scontrol", "-o", "show", "job", self.number)
        return dict(re.findall(r"(\w+)=(\S*)", text))

    def wait_for_end(self):
        """Waits for the job's end and returns its state."""

        def ended():
            state = self.fields()["JobState"]
            return state if state in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL") else None

        return wait_for("the end of the job", ended)

    def log(self):
        return pathlib.Path(self.fields()["StdOut"]).read_text(encoding="utf-8", errors="replace")

    def executions(self):
        """The job's record: a line for each execution."""
        lines = []
        for record in self.output.glob("slurm/executions.*"):
            lines += record.read_text(encoding="utf-8").splitlines()
        return lines

    def wait_for_execution(self, number):
        """Waits until execution `number`, counted from 0, has begun."""
        wait_for(f"execution {number}", lambda: len(self.executions()) > number)


class TrainJob(Job):
    """A run that a job trains in work/run."""

    def __init__(self, cluster, work, arguments=(), **options):
        self.output = pathlib.Path(work) / "run"
        super().__init__(cluster, work, "train", CONFIG, "--output", self.output, "--quiet", *arguments, **options)

    def last_step(self):
        """The last committed step; all steps of a finished run."""
        if (self.output / "run.h5").exists():
            return STEPS
        last = 0
        for journal in self.output.glob("journal.E*"):
            for line in journal.read_text(encoding="utf-8", errors="replace").splitlines():
                words = line.split()
                if len(words) == 6 and words[0] == "segment":
                    last = max(last, int(words[1]))
        return last

    def wait_for_step(self, step):
        wait_for(f"step {step}", lambda: self.last_step() >= step)

    def steps_redone(self):
        """The most steps that an execution repeated of those that the one before had done."""
        done, redone = 0, 0
        for line in (self.output / "execution.jsonl").read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            if event["event"] == "start":
                redone = max(redone, done - event["resumed_after"])
            elif event["event"] == "step":
                done = event["step"]
        return redone


class SweepJob(Job):
    """The sweep of sweep.toml in work/sweep, as one job or, with --array N among the arguments, as an array of tasks."""

    def __init__(self, cluster, work, arguments=(), **options):
        self.output = pathlib.Path(work) / "sweep"
        super().__init__(cluster, work, "sweep", SWEEP, "--output", self.output, "--quiet", *arguments, **options)

    def wait_for_trials(self, count):
        """Waits until so many trials have ended."""
        wait_for(f"{count} trials", lambda: len(list(self.output.glob("trials/*/model/config.json"))) >= count)

    def wait_for_table(self):
        """Waits for the table and returns its files: {name: contents}."""
        wait_for("the table", (self.output / "sweep.md").exists)
        return table_of(self.output)


def table_of(directory):
    """The table of a sweep: {name: contents}."""
    return {name: (directory / name).read_bytes() for name in ("sweep.h5", "sweep.csv", "sweep.md")}
