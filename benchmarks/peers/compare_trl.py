#!/usr/bin/env python3
"""GRPO steps of Reprise beside TRL's: the same weights, shapes and machine, in alternating runs.

    python -m venv V && V/bin/pip install torch==2.13.0 transformers==5.23.0 trl==1.16.0
    bazel build //benchmarks/peers:grpo_step && V/bin/python benchmarks/peers/compare_trl.py nano micro

8 prompts x 8 generations, 16-token prompts, full-length completions, fp32, AdamW, one update a batch, the router's
load-balancing loss on, no reference model, no logging on either side. TRL runs with glibc's malloc tuned, which it
gains from. Prints a row a model: medians over the rounds, and the ratio.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile

MODELS = {
    "nano": dict(vocab_size=128, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=4, num_experts=8, num_experts_per_tok=2),
    "micro": dict(vocab_size=512, hidden_size=256, intermediate_size=256, num_hidden_layers=4, num_attention_heads=8,
                  num_key_value_heads=8, num_experts=16, num_experts_per_tok=4),
}
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592", "MALLOC_TOP_PAD_": "268435456"}


def byte_tokenizer():
    """Token id = ASCII code; 0 <pad>, 1 <eos>, 2 <bos>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    visible = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    hidden = [b for b in range(256) if b not in visible]
    letter = {**{b: chr(b) for b in visible}, **{b: chr(256 + i) for i, b in enumerate(hidden)}}
    vocab = {"<pad>": 0, "<eos>": 1, "<bos>": 2, **{letter[b]: b for b in range(3, 128)}}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", bos_token="<bos>",
                                   padding_side="left")


def save_model(name, folder):
    import torch
    from transformers import OlmoeConfig, OlmoeForCausalLM
    torch.manual_seed(1)
    config = OlmoeConfig(**MODELS[name], max_position_embeddings=256, pad_token_id=0, eos_token_id=1, bos_token_id=2,
                         tie_word_embeddings=False, router_aux_loss_coef=0.01, initializer_range=0.1)
    OlmoeForCausalLM(config).float().save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)


def time_trl(folder, threads, length, steps):
    """Runs in a process of its own; prints one line of JSON."""
    import random, time, warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(threads)
    import transformers
    transformers.logging.set_verbosity_error()
    from datasets import Dataset, disable_progress_bars
    from transformers import OlmoeForCausalLM, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    disable_progress_bars()
    seconds, generation = [], []

    class Clock(TrainerCallback):
        def on_step_begin(self, *_, **__):
            self.start = time.perf_counter()

        def on_step_end(self, *_, **__):
            seconds.append(time.perf_counter() - self.start)

    rng = random.Random(0)
    prompts = [{"prompt": "".join(rng.choice("abcdefgh") for _ in range(15)) + "="} for _ in range(512)]
    trainer = GRPOTrainer(
        model=OlmoeForCausalLM.from_pretrained(folder).train(),
        reward_funcs=lambda completions, **_: [c.count("a") + 0.1 * len(set(c)) for c in completions],
        args=GRPOConfig(output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False, per_device_train_batch_size=64,
                        gradient_accumulation_steps=1, num_generations=8, max_completion_length=length, beta=0.0,
                        learning_rate=1e-4, lr_scheduler_type="constant", optim="adamw_torch", max_steps=steps,
                        logging_strategy="no", save_strategy="no", report_to=[], disable_tqdm=True,
                        gradient_checkpointing=False, generation_kwargs={"min_new_tokens": length},
                        dataloader_pin_memory=False, loss_type="dapo", seed=1),
        train_dataset=Dataset.from_list(prompts), processing_class=byte_tokenizer(), callbacks=[Clock()])
    sample = trainer._generate_single_turn

    def timed(*args, **kwargs):
        start = time.perf_counter()
        result = sample(*args, **kwargs)
        generation.append(time.perf_counter() - start)
        return result

    trainer._generate_single_turn = timed
    trainer.train()
    print(json.dumps({"s_step": statistics.median(seconds[3:]), "s_gen": statistics.median(generation[3:])}))


def run(command, environment):
    output = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return json.loads(output.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["nano"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--completion", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=13)
    parser.add_argument("--trl", metavar="FOLDER", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    if flags.trl:
        return time_trl(flags.trl, flags.threads, flags.completion, flags.steps)
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    ours = os.path.join(root, "bazel-bin", "benchmarks", "peers", "grpo_step")
    print("| model | TRL s/step (gen) | Reprise s/step (gen) | step ratio | generation ratio |\n|---|---|---|---|---|")
    for name in flags.models:
        folder = tempfile.mkdtemp()
        save_model(name, folder)
        rows = {"trl": [], "reprise": []}
        for _ in range(flags.rounds):
            limit = {"OMP_NUM_THREADS": str(flags.threads), "TOKENIZERS_PARALLELISM": "false"}
            rows["trl"].append(run([sys.executable, os.path.abspath(__file__), "--trl", folder, "--threads",
                                    str(flags.threads), "--completion", str(flags.completion), "--steps",
                                    str(flags.steps)], {**limit, **MALLOC}))
            rows["reprise"].append(run([ours, folder, str(flags.threads), str(flags.completion),
                                        str(3 * flags.steps)], limit))
        median = {peer: {key: statistics.median(r[key] for r in runs) for key in ("s_step", "s_gen")}
                  for peer, runs in rows.items()}
        trl, reprise = median["trl"], median["reprise"]
        print(f"| {name} | {trl['s_step']:.4f} ({trl['s_gen']:.4f}) | {reprise['s_step']:.4f} "
              f"({reprise['s_gen']:.4f}) | {trl['s_step'] / reprise['s_step']:.1f}x | "
              f"{trl['s_gen'] / reprise['s_gen']:.1f}x |", flush=True)


if __name__ == "__main__":
    main()
