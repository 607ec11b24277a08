#!/usr/bin/env python3
"""Measures the seconds of training until the mean reward of 20 steps reaches 0.9, for Reprise and TRL, from the same
weights.

    bazel build //pipelines:train && python benchmarks/peers/time_to_reward.py [--seeds 1 2 3]
    ~/.cache/reprise/peers/venv/bin/python benchmarks/peers/time_to_reward.py --trl    # about a minute per seed

compare.py installs TRL there.

The task is to write five letters out of eight backwards, starting from nano_anchor (a small OLMoE after 60 steps of
supervised training, which solves about a third). GRPO, 8 prompts x 8 generations, loss dapo, AdamW with a constant rate
of 5e-4, clipping at norm 1, temperature 1, no reference model, no load balancing. Prints a row for each seed: steps and
seconds of training of both programs, and their ratio. A seed draws different numbers in the two programs.
"""
import argparse, json, os, random, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "nano_anchor")
TARGET, WINDOW, MOST_STEPS = 0.9, 20, 4000
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456"}
CONFIG = """[model]
path = "{model}"
router_aux_loss_coef = 0.0
[run]
steps = {steps}
logical_shards = 2
[data]
path = "{data}"
[rollout]
prompts_per_step = 8
num_generations = 8
max_completion_length = 6
[algorithm]
loss_type = "dapo"
[optimizer]
learning_rate = 5e-4
schedule = "constant"
[artifact]
digest_every = 0
"""


def problems():
    """Returns the training problems: the first 500 of a fixed order are held out."""
    rng = random.Random(5)
    words = dict.fromkeys("".join(rng.choices("abcdefgh", k=5)) for _ in range(8000))
    pairs = [(word + "=", word[::-1]) for word in words]
    rng.shuffle(pairs)
    return pairs[500:]


def reached(rewards):
    """Returns the number of steps after which the mean over the window reaches the target; None if it never does."""
    for end in range(WINDOW, len(rewards) + 1):
        if sum(rewards[end - WINDOW:end]) / WINDOW >= TARGET:
            return end
    return None


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def train_reprise(program, seed, threads):
    """Trains until the target is reached; returns the steps and their seconds, or None and None."""
    with tempfile.TemporaryDirectory() as folder:
        data, config, run = (os.path.join(folder, name) for name in ("problems.jsonl", "config.toml", "run"))
        with open(data, "w") as file:
            file.writelines(json.dumps({"prompt": prompt, "answer": answer}) + "\n" for prompt, answer in problems())
        with open(config, "w") as file:
            file.write(CONFIG.format(model=MODEL, data=data, steps=MOST_STEPS))
        process = subprocess.Popen([program, config, "--output", run, "--quiet", "--set", f"run.seed={seed}", "--set",
                                    f"execution.threads={threads}"], env={**os.environ, "OMP_NUM_THREADS": "1"},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics, steps = os.path.join(run, "metrics.jsonl"), None
        while steps is None and process.poll() is None:
            time.sleep(0.5)
            if os.path.exists(metrics):
                with open(metrics) as file:  # its last line may be half written
                    steps = reached([json.loads(line)["reward"] for line in file if line.endswith("\n")])
        process.terminate()  # the program ends after its current step
        process.wait()
        seconds = [line["step_time"] for line in lines(os.path.join(run, "execution.jsonl")) if line["event"] == "step"]
        return steps, sum(seconds[:steps]) if steps else None


def train_trl(seed, threads):
    """Runs in a separate process; prints one line of JSON."""
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(threads)
    import transformers
    transformers.logging.set_verbosity_error()
    from datasets import Dataset
    from transformers import AutoTokenizer, OlmoeForCausalLM, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    rewards = []

    def reward(completion_ids, answer, **_):
        rewards_now = [float(ids == [ord(c) for c in text] + [1]) for ids, text in zip(completion_ids, answer)]
        rewards.append(sum(rewards_now) / len(rewards_now))
        return rewards_now

    class Clock(TrainerCallback):
        def on_train_begin(self, *_, **__):
            self.begin = time.perf_counter()

        def on_step_end(self, arguments, state, control, **_):
            self.seconds = time.perf_counter() - self.begin
            control.should_training_stop = reached(rewards) is not None
            return control

    clock = Clock()
    trainer = GRPOTrainer(
        model=OlmoeForCausalLM.from_pretrained(MODEL, dtype=torch.float32).train(), reward_funcs=reward,
        args=GRPOConfig(output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False, per_device_train_batch_size=64,
                        num_generations=8, max_completion_length=6, beta=0.0, learning_rate=5e-4,
                        lr_scheduler_type="constant", max_steps=MOST_STEPS, logging_strategy="no", save_strategy="no",
                        report_to=[], disable_tqdm=True, gradient_checkpointing=False, seed=seed,
                        router_aux_loss_coef=0.0, max_grad_norm=1.0, loss_type="dapo"),
        train_dataset=Dataset.from_list([{"prompt": p, "answer": a} for p, a in problems()]),
        processing_class=AutoTokenizer.from_pretrained(MODEL, padding_side="left"), callbacks=[clock])
    trainer.train()
    print(json.dumps({"steps": reached(rewards), "seconds": clock.seconds}))


def run_trl(seed, threads):
    command = [sys.executable, os.path.abspath(__file__), "--as-trl", str(seed), "--threads", str(threads)]
    limit = {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", **MALLOC}
    output = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **limit})
    result = json.loads(output.stdout.strip().splitlines()[-1])
    return result["steps"], result["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--trl", action="store_true", help="train with TRL as well")
    parser.add_argument("--as-trl", type=int, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.as_trl is not None:
        return train_trl(flags.as_trl, flags.threads)
    program = os.path.join(HERE, "..", "..", "bazel-bin", "pipelines", "train")
    print("| seed | Reprise, steps | seconds | TRL, steps | seconds | sooner |\n|---|---|---|---|---|---|")
    for seed in flags.seeds:
        steps, seconds = train_reprise(program, seed, flags.threads)
        row = f"| {seed} | {steps} | {seconds:.1f} |" if steps else f"| {seed} | not in {MOST_STEPS} | |"
        if flags.trl:
            trl_steps, trl_seconds = run_trl(seed, flags.threads)
            row += f" {trl_steps} | {trl_seconds:.1f} |"
            row += f" {trl_seconds / seconds:.1f}x |" if steps and trl_steps else " |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
