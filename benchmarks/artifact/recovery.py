#!/usr/bin/env python3
"""Measures the time to resume a killed run and to reproduce a run: whole programs, in alternating rounds.

    bazel build //pipelines:train //pipelines:reproduce
    python3 benchmarks/artifact/recovery.py bazel-bin/pipelines configs/quickstart.toml

Prints one line of JSON, medians over the rounds, in seconds:
  train         training the run
  replay        reproduce from the stored tokens: repeats everything except the sampling
  regenerate    reproduce including the sampling
  replay_of_training  replay / (train - (regenerate - replay)): relative to the run's time without the sampling
  resume        from the start of `train --resume`, of a run that was killed half way, to its first new step: the number
                of repeated steps depends on execution.save_every
  lost_steps    steps that the kill lost, because they were not yet committed: depends on execution.commit_every
"""
import argparse, json, os, statistics, subprocess, tempfile, time


class Bench:
    def __init__(self, programs, config, options):
        self.programs, self.config, self.options = programs, config, options

    def arguments(self, verb, *arguments):
        return [os.path.join(self.programs, verb), *arguments, "--quiet", *self.options]

    def run(self, verb, *arguments):
        start = time.monotonic()
        subprocess.run(self.arguments(verb, *arguments), check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - start

    def start(self, *arguments):
        return subprocess.Popen(self.arguments("train", self.config, *arguments), stdout=subprocess.DEVNULL)


def lines(directory):
    """Returns the complete lines of execution.jsonl, parsed; none if the file does not exist yet."""
    try:
        with open(os.path.join(directory, "execution.jsonl")) as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]
    except FileNotFoundError:
        return []


def steps(directory):
    return [line for line in lines(directory) if line["event"] == "step"]


def wait(condition, process):
    while process.poll() is None and not condition():
        time.sleep(0.002)


def time_resume(bench, folder, half):
    """Returns the seconds to the first step that the killed process had not completed, and how many steps it lost."""
    killed = bench.start("--output", folder)
    wait(lambda: len(steps(folder)) >= half, killed)
    killed.kill()
    killed.wait()
    shown = len(steps(folder))
    start = time.monotonic()
    resumed = bench.start("--output", folder, "--resume")
    wait(lambda: len(steps(folder)) > shown, resumed)
    seconds = time.monotonic() - start
    committed = [line for line in lines(folder) if line["event"] == "start"][-1]["resumed_after"]
    resumed.wait()
    return seconds, shown - committed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", help="the directory of train and reproduce")
    parser.add_argument("config")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="execution keys for all programs")
    flags = parser.parse_args()
    bench = Bench(flags.programs, flags.config, [word for key in flags.set for word in ("--set", key)])
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(flags.rounds):
            whole, cut = (os.path.join(folder, f"{name}{i}") for name in ("whole", "cut"))
            row = {"train": bench.run("train", flags.config, "--output", whole)}
            for mode in ("replay", "regenerate"):
                row[mode] = bench.run("reproduce", os.path.join(whole, "run.h5"), "--mode", mode)
            row["replay_of_training"] = row["replay"] / (row["train"] - row["regenerate"] + row["replay"])
            row["resume"], row["lost_steps"] = time_resume(bench, cut, len(steps(whole)) // 2)
            rounds.append(row)
    print(json.dumps({name: round(statistics.median(row[name] for row in rounds), 4) for name in rounds[0]}))


if __name__ == "__main__":
    main()
