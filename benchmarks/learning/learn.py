#!/usr/bin/env python3
"""Every algorithm on a task that it solves: steps and seconds until the mean reward of 20 steps reaches 0.9.

    bazel build //pipelines:train && python3 benchmarks/learning/learn.py [--seeds 1 2 3] [--rows grpo ppo]

The task and what each row overrides of it stand in rows.toml beside this file. Prints a markdown table, a row an
algorithm and a column a seed; a run that never gets there says how far it got. Steps are the same everywhere; seconds,
of the training steps up to there, say how long a person waits. Exits with 1 if any run fell short.
"""
import argparse, json, os, subprocess, sys, tempfile, time, tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET, WINDOW = 0.9, 20


def arguments_of(settings):
    """As --set flags: values as TOML has them."""
    return [part for key, value in settings.items() for part in ("--set", f"{key}={json.dumps(value)}")]


def reached(rewards):
    """The number of steps after which the mean over the window is at the target; None if it never is."""
    for end in range(WINDOW, len(rewards) + 1):
        if sum(rewards[end - WINDOW:end]) / WINDOW >= TARGET:
            return end
    return None


def rewards_of(run):
    """Of the training steps so far; the file's last line may be half written."""
    path = os.path.join(run, "metrics.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        steps = [json.loads(line) for line in file if line.endswith("\n")]
    return [step["reward"] for step in steps if step["phase"] == "training"]


def learn(program, settings, seed):
    """Steps and seconds to the target, where the run is ended, or None and the mean reward at the end."""
    with tempfile.TemporaryDirectory() as folder:
        config, run, errors = (os.path.join(folder, name) for name in ("empty.toml", "run", "errors"))
        open(config, "w").close()
        command = [program, config, "--output", run, "--quiet", *arguments_of({**settings, "run.seed": seed})]
        with open(errors, "w") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
        while process.poll() is None and reached(rewards_of(run)) is None:
            time.sleep(0.2)
        stopped = process.poll() is None
        process.terminate()  # it ends its step
        if process.wait() != 0 and not stopped:
            sys.exit(f"{' '.join(command)}\n{open(errors).read()}")
        rewards = rewards_of(run)
        steps = reached(rewards)
        if steps is None:
            return None, sum(rewards[-WINDOW:]) / max(1, len(rewards[-WINDOW:]))
        with open(os.path.join(run, "execution.jsonl")) as file:
            timings = [json.loads(line) for line in file]
        seconds = [line["step_time"] for line in timings if line["event"] == "step" and line["phase"] == "training"]
        return steps, sum(seconds[:steps])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="bazel-bin/pipelines/train")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--rows", nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every run")
    options = parser.parse_args()
    with open(os.path.join(HERE, "rows.toml"), "rb") as file:
        table = tomllib.load(file)
    more = {key: json.loads(value) for key, value in (item.split("=", 1) for item in options.set)}
    print("| algorithm |" + "".join(f" seed {seed} |" for seed in options.seeds))
    print("|---|" + "---|" * len(options.seeds))
    fell_short = False
    for row in options.rows or table["rows"]:
        settings = {**table["task"], "algorithm.name": row, **table["rows"][row], **more}
        cells = []
        for seed in options.seeds:
            steps, number = learn(options.train, settings, seed)
            fell_short = fell_short or steps is None
            cells.append(f"fell short: {number:.2f}" if steps is None else f"{steps} steps, {number:.1f} s")
        print(f"| `{row}` | " + " | ".join(cells) + " |", flush=True)
    return 1 if fell_short else 0


if __name__ == "__main__":
    sys.exit(main())
