#!/usr/bin/env python3
"""Measures what reinforcement learning achieves and prints markdown tables. Steps and accuracies are the same on every
machine; seconds are wall time.

    bazel build //pipelines:train && python3 benchmarks/learning/learn.py [--seeds 1 2 3] [--rows grpo ppo]

Trains every algorithm on a task that it solves (rows.toml in this folder): steps and seconds of training until the mean
reward of 20 steps reaches 0.9, with a row for each algorithm and a column for each seed. For a run that never reaches
it, the last mean reward is printed.

    python3 benchmarks/learning/learn.py --configs multi_turn_rloo number_guess countdown memory_agent \
        memory_facts

Trains shipped configurations (configs.toml in this folder) with their seeds: a metric of evaluations before the first
training step and after the last one, on held-out problems if the configuration has any, other metrics after the last
one, and the seconds of the run; with three seeds or more, the means of the last evaluations and their 95% intervals.

Exits with 1 if any run failed to reach its target.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time, tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET, WINDOW = 0.9, 20
STUDENT = {3: 4.303, 4: 3.182, 5: 2.776}  # 97.5% quantiles of Student's t by the number of seeds


def arguments_of(settings):
    """Returns the settings as --set flags, with values in TOML's syntax."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={json.dumps(value)}")]


def reached(rewards, target=TARGET, window=WINDOW):
    """Returns the number of steps after which the mean over the window reaches the target; None if it never does."""
    for end in range(window, len(rewards) + 1):
        if sum(rewards[end - window:end]) / window >= target:
            return end
    return None


def lines_of(run, name):
    """Returns the complete lines of a file of JSON lines that may still be growing."""
    path = os.path.join(run, name)
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def training_steps(run):
    return [step for step in lines_of(run, "metrics.jsonl") if step["phase"] == "training"]


def rewards_of(run):
    return [step["reward"] for step in training_steps(run)]


def step_times(run, phases):
    return [line["step_time"] for line in lines_of(run, "execution.jsonl")
            if line["event"] == "step" and line["phase"] in phases]


def train(program, config, run, settings, is_enough=lambda: False):
    """Trains until `is_enough` returns true or the run ends."""
    command = [program, config, "--output", run, "--quiet", *arguments_of(settings)]
    with open(run + ".errors", "w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    while process.poll() is None and not is_enough():
        time.sleep(0.2)
    stopped = process.poll() is None
    process.terminate()  # the program ends after its current step
    if process.wait() != 0 and not stopped:
        sys.exit(f"{' '.join(command)}\n{open(run + '.errors').read()}")


def learn(program, settings, seed):
    """Trains to the target; returns the steps and seconds to it, or None and the last mean reward."""
    with tempfile.TemporaryDirectory() as folder:
        config, run = (os.path.join(folder, name) for name in ("empty.toml", "run"))
        open(config, "w").close()
        train(program, config, run, {**settings, "run.seed": seed}, lambda: reached(rewards_of(run)) is not None)
        rewards = rewards_of(run)
        steps = reached(rewards)
        if steps is None:
            return None, sum(rewards[-WINDOW:]) / max(1, len(rewards[-WINDOW:]))
        return steps, sum(step_times(run, ["training"])[:steps])


def print_rows(options, table, more):
    """Prints the table of the algorithms; returns whether any run failed to reach the target."""
    print("| algorithm |" + "".join(f" seed {seed} |" for seed in options.seeds))
    print("|---|" + "---|" * len(options.seeds))
    fell_short = False
    for row in options.rows or table["rows"]:
        settings = {**table["task"], "algorithm.name": row, **table["rows"].get(row, {}), **more}
        cells = []
        for seed in options.seeds:
            steps, number = learn(options.train, settings, seed)
            fell_short = fell_short or steps is None
            cells.append(f"not reached: {number:.2f}" if steps is None else f"{steps} steps, {number:.1f} s")
        print(f"| `{row}` | " + " | ".join(cells) + " |", flush=True)
    return fell_short


def print_config(options, name, entry, more):
    """Prints a configuration's table; returns whether any seed's accuracy is out of the entry's bounds."""
    path = os.path.join(HERE, "..", "..", "configs", name + ".toml")
    metric = entry["metric"]
    with open(path, "rb") as file:
        share = tomllib.load(file).get("evaluation", {}).get("held_out_share", 0)
    problems = entry.get("problems", "held-out problems" if share else "problems that training meets too")
    print(f"`configs/{name}.toml`, {metric} of {problems}:\n")
    names = [metric, *entry.get("also", [])]
    columns = ["seed", "before", "after", *names[1:], "training steps", "seconds"]
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|")
    fell_short, last = False, []
    for seed in options.seeds or entry["seeds"]:
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            train(options.train, path, run, {**entry.get("set", {}), "run.seed": seed, **more})
            steps, seconds = training_steps(run), sum(step_times(run, ["sft", "training"]))
        before = steps[0][metric.replace("eval_", "eval_start_")]
        after = [[step[name] for step in steps if name in step][-1] for name in names]
        last.append(after)
        fell_short = fell_short or before > entry["before_at_most"] or after[0] < entry["after_at_least"]
        numbers = " | ".join(f"{number:.3f}" for number in [before, *after])
        print(f"| {seed} | {numbers} | {len(steps)} | {seconds:.0f} |", flush=True)
    if len(last) in STUDENT:
        for name, values in zip(names, zip(*last)):
            half = STUDENT[len(last)] * statistics.stdev(values) / len(last)**0.5
            print(f"\nAfter: {name} {statistics.mean(values):.3f} ± {half:.3f}")
    print(flush=True)
    return fell_short


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="bazel-bin/pipelines/train")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--rows", nargs="+")
    parser.add_argument("--configs", nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every run")
    options = parser.parse_args()
    more = {key: json.loads(value) for key, value in (item.split("=", 1) for item in options.set)}
    with open(os.path.join(HERE, "configs.toml" if options.configs else "rows.toml"), "rb") as file:
        table = tomllib.load(file)
    if options.configs:
        return 1 if any([print_config(options, name, table[name], more) for name in options.configs]) else 0
    options.seeds = options.seeds or [1]
    return 1 if print_rows(options, table, more) else 0


if __name__ == "__main__":
    sys.exit(main())
