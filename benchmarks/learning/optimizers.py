#!/usr/bin/env python3
"""Compares MuonGrokfast with AdamW by the steps that they take, and prints markdown tables (optimizers.toml in this
folder).

    bazel build //pipelines:train && python3 benchmarks/learning/optimizers.py [--models nano micro]

`supervised`: supervised steps until the mean loss of 10 steps is at most 0.1. `reinforcement`: steps of GRPO, from the
same weights for both optimizers, until the mean reward of 20 steps reaches 0.9. Steps are the same on every machine.

    python3 benchmarks/learning/optimizers.py --tune [--phases supervised] [--optimizers adamw] [--models nano]

prints the steps of every setting of the grids with the seeds that are not compared; of settings that need more steps
than 1.5 times the best one's before them, only that.
"""
import argparse, itertools, os, sys, tempfile, tomllib

import learn

PHASES, OPTIMIZERS = ("supervised", "reinforcement"), ("adamw", "muon_grokfast")


def losses_of(run):
    return [step["loss"] for step in learn.lines_of(run, "metrics.jsonl") if step["phase"] == "sft"]


class Comparison:
    def __init__(self, program, table, folder):
        self.program, self.table, self.folder = program, table, folder
        self.empty = os.path.join(folder, "empty.toml")
        open(self.empty, "w").close()

    def start_of(self, model, seed):
        """Returns the directory of the weights from which GRPO begins."""
        run = os.path.join(self.folder, f"{model}_{seed}")
        if not os.path.exists(run):
            of_model = self.table["models"][model]
            settings = {**self.table["task"], **self.table["supervised"]["settings"], **of_model["network"],
                        **of_model["start"], "run.steps": 0, "run.seed": seed}
            learn.train(self.program, self.empty, run, settings)
        return os.path.join(run, "model")

    def settings_of(self, model, phase, optimizer, choice):
        settings = {**self.table["task"], **choice, "optimizer.name": optimizer}
        if optimizer == "muon_grokfast":
            rate = self.table["best"][model][phase]["adamw"]["optimizer.learning_rate"]
            settings = {"optimizer.fallback_learning_rate": rate, **settings}
        if phase == "supervised":
            settings["sft.learning_rate"] = settings["optimizer.learning_rate"]
        return settings

    def steps(self, model, phase, settings, seed, most):
        """Returns the steps to the target; None where there are more than `most`."""
        supervised = self.table["supervised"]
        most = min(most, self.table[phase]["steps"])
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            if phase == "supervised":
                own = {**supervised["settings"], **self.table["models"][model]["network"], "sft.steps": most,
                       "run.steps": 0}
                reached = lambda: learn.reached([-loss for loss in losses_of(run)], -supervised["loss"],
                                                supervised["window"])
            else:
                own = {"model.path": self.start_of(model, seed), "run.steps": most}
                reached = lambda: learn.reached(learn.rewards_of(run))
            learn.train(self.program, self.empty, run, {**settings, **own, "run.seed": seed},
                        lambda: reached() is not None)
            return reached()


def choices_of(grid):
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def print_grid(comparison, model, phase, optimizer):
    seeds, least = comparison.table["seeds"]["tune"][model], None
    print(f"\n{model}, {phase}, `{optimizer}`:\n")
    for choice in choices_of(comparison.table["grid"][model][phase][optimizer]):
        most = 1000000 if least is None else int(1.5 * least / len(seeds))
        settings = comparison.settings_of(model, phase, optimizer, choice)
        steps = [comparison.steps(model, phase, settings, seed, most) for seed in seeds]
        if None not in steps:
            least = min(sum(steps), least or sum(steps))
        print(f"{choice}: {steps} (of at most {most})", flush=True)


def print_table(comparison, models, phases, optimizers):
    """Prints the steps of each seed; returns whether any run fell short of its target."""
    seeds, fell_short = comparison.table["seeds"]["compare"], False
    print("| network | until | optimizer |" + "".join(f" seed {seed} |" for seed in seeds) + " mean |")
    print("|---" * (4 + len(seeds)) + "|")
    for model, phase, optimizer in itertools.product(models, phases, optimizers):
        choice = comparison.table["best"][model][phase][optimizer]
        settings = comparison.settings_of(model, phase, optimizer, choice)
        steps = [comparison.steps(model, phase, settings, seed, 1000000) for seed in seeds]
        fell_short = fell_short or None in steps
        mean = "" if None in steps else f"{sum(steps) / len(steps):.0f}"
        until = "loss 0.1" if phase == "supervised" else "reward 0.9"
        cells = ["not reached" if number is None else str(number) for number in steps]
        print(f"| {model} | {until} | `{optimizer}` | {' | '.join(cells)} | {mean} |", flush=True)
    return fell_short


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "optimizers.toml"), "rb") as file:
        table = tomllib.load(file)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", default="bazel-bin/pipelines/train")
    parser.add_argument("--models", nargs="+", default=list(table["models"]))
    parser.add_argument("--phases", nargs="+", default=PHASES)
    parser.add_argument("--optimizers", nargs="+", default=OPTIMIZERS)
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options.train, table, folder)
        if not options.tune:
            return 1 if print_table(comparison, options.models, options.phases, options.optimizers) else 0
        for each in itertools.product(options.models, options.phases, options.optimizers):
            print_grid(comparison, *each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
