"""Compares GRPO steps of Reprise with TRL's, for compare.py: the same weights, problems, shapes and machine.

As a program, executed by an interpreter with TRL, it times TRL: `trl_peer.py make FOLDER MODEL` writes a model and its
problems, `trl_peer.py time FOLDER THREADS TOKENS STEPS` trains with them and prints a line of JSON.
"""
import json, os, random, statistics, subprocess, sys, tempfile

MODELS = {
    "nano": dict(vocab_size=128, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=4, num_experts=8, num_experts_per_tok=2),
    "micro": dict(vocab_size=512, hidden_size=256, intermediate_size=256, num_hidden_layers=4, num_attention_heads=8,
                  num_key_value_heads=8, num_experts=16, num_experts_per_tok=4),
}
STEPS = 13  # of TRL in each round; Reprise makes three times as many
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
    rng = random.Random(0)
    with open(os.path.join(folder, "problems.jsonl"), "w") as file:
        for word in dict.fromkeys("".join(rng.choices("abcdefgh", k=15)) for _ in range(512)):
            file.write(json.dumps({"prompt": word + "=", "answer": word[::-1]}) + "\n")


def time_trl(folder, threads, length, steps):
    """Runs in a separate process; prints one line of JSON."""
    import time, warnings
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

    with open(os.path.join(folder, "problems.jsonl")) as file:
        prompts = [{"prompt": json.loads(line)["prompt"]} for line in file]
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
    limit = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", **environment}
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **limit})
    if result.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{result.stderr[-2000:]}")
    return result.stdout


def measure(name, threads, programs, options):
    """Yields a label, a unit, our values and theirs, with one value for each round."""
    if name not in MODELS:
        return
    rows = {"trl": [], "reprise": []}
    cores = {"OMP_NUM_THREADS": str(threads)}
    here = os.path.abspath(__file__)
    with tempfile.TemporaryDirectory() as folder:
        run([options.python, here, "make", folder, name], {})
        shape = [str(threads), str(options.completion)]
        for _ in range(options.rounds):
            theirs = run([options.python, here, "time", folder, *shape, str(STEPS)], {**cores, **MALLOC})
            ours = run([f"{programs}/grpo_step", folder, *shape, str(3 * STEPS)], cores)
            for peer, output in (("trl", theirs), ("reprise", ours)):
                rows[peer].append(json.loads(output.strip().splitlines()[-1]))
    for what, key in (("TRL, GRPO step", "s_step"), ("Transformers, generation", "s_gen")):
        yield what, "s", [row[key] for row in rows["reprise"]], [row[key] for row in rows["trl"]]


if __name__ == "__main__":
    if sys.argv[1] == "make":
        save_model(sys.argv[3], sys.argv[2])
    else:
        time_trl(sys.argv[2], *map(int, sys.argv[3:6]))
