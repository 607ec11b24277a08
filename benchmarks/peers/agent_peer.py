"""Compares training steps of the memory agent with the same loop in PyTorch and Transformers, for compare.py: the same
weights, texts, shapes and machine.

As a program, executed by an interpreter with Transformers, it times the peer: `agent_peer.py FOLDER THREADS STEPS HOW`
trains the encoder in FOLDER, as a run of the memory agent exports it, and prints a line of JSON.

A step of either side plays 8 tasks x 8 samples of 4 to 8 operations, drawn from the policy, and makes 4 updates from
them: advantages by step of the group, clipped ratios, the exact divergence from the first policy over the six actions,
AdamW, gradients clipped at norm 1, float32. HOW the peer encodes states:

    batched   all that are wanted at a time in one padded batch, equal ones once; tokens, and what the reference says
              of them, once a step
    single    one at a time, as a first version of such a trainer does

Of Transformers' implementations of experts and attention the peer takes those that it finds fastest. With one thread,
seconds are the processor's on both sides: they exclude the turns of other processes.

The peer's world is a formula: it counts stored notes to decide whether an operation succeeds, and draws its latency.
Ours simulates stores, retrieval, summaries and filters, and makes the tables of the step's record as well.
"""
import json, math, os, statistics, sys, tempfile, time

from trl_peer import MALLOC, run

CONFIG = "configs/memory_agent.toml"
MODELS = {  # of the configuration's texts
    "agent": [],  # the configuration's own: width 32, 2 layers, 4 experts
    "agent64": ["model.hidden_size=64", "model.intermediate_size=64", "model.num_experts=8"],
}
PROMPTS, SAMPLES, UPDATES = 8, 8, 4
EPSILON, BETA = 0.2, 0.1
ACTIONS = ["add", "update", "delete", "retrieve", "summary", "filter"]
LATENCY = {"add": (120, 40), "update": (90, 30), "delete": (60, 20), "retrieve": (150, 50), "summary": (400, 150),
           "filter": (180, 60)}
PLANS = ["Store what matters, then answer from memory.", "Keep the memory small and up to date.",
         "Collect facts first and condense them later.", "Look things up before adding anything new."]
WARM_UP = 3


class Episode:
    def __init__(self, plan, steps):
        self.plan, self.steps, self.history, self.logprobs, self.rewards, self.states = plan, steps, [], [], [], []
        self.stored = 0

    def state(self):
        return (f"operation: pending; step: {len(self.history)}; total_steps: {self.steps}; plan: {self.plan}; "
                f"history: {self.history}")

    def act(self, operation, rng):
        """Executes the next operation and notes its reward."""
        succeeds = operation in ("add", "summary", "filter") or self.stored > 0
        self.stored += {"add": 1, "delete": -1}.get(operation, 0) if succeeds else 0
        mean, spread = LATENCY[operation]
        efficiency = min(1.0, math.exp(1 - rng.uniform(mean - spread, mean + spread) / 100))
        quality = min(1.0, self.stored / 5) if operation == "retrieve" else float(succeeds)
        self.rewards.append(0.5 * (1.0 if succeeds else -0.5) + 0.3 * efficiency + 0.2 * quality)
        self.history.append(operation)


class Policy:
    """An encoder whose mean hidden state goes to an action head."""

    def __init__(self, folder, single, experts, attention):
        import torch, transformers
        from safetensors.torch import load_file
        transformers.logging.set_verbosity_error()
        self.encoder = transformers.AutoModel.from_pretrained(folder, experts_implementation=experts,
                                                              attn_implementation=attention).eval()
        self.tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(folder, "tokenizer.json"),
                                                              pad_token="<pad>")
        width = self.encoder.config.hidden_size
        self.head = torch.nn.Sequential(torch.nn.Linear(width, width // 2), torch.nn.ReLU(),
                                        torch.nn.Linear(width // 2, len(ACTIONS)))
        stored = load_file(os.path.join(folder, "model.safetensors"))
        self.head.load_state_dict({f"{2 * i}.{part}": stored[f"action_head.{i}.{part}"]
                                   for i in (0, 1) for part in ("weight", "bias")})
        self.single = single

    def parameters(self):
        return [*self.encoder.parameters(), *self.head.parameters()]

    def batches_of(self, states):
        """Returns padded batches of tokens that log_softmax reads, and for each state its row of the result."""
        import torch
        distinct = states if self.single else list(dict.fromkeys(states))
        parts = [[state] for state in distinct] if self.single else [distinct]
        row_of = {state: row for row, state in enumerate(distinct)}
        batches = [self.tokenizer(part, padding=True, return_tensors="pt") for part in parts]
        return batches, torch.arange(len(states)) if self.single else torch.tensor([row_of[s] for s in states])

    def log_softmax(self, batches_and_rows):
        """Returns the log-probabilities of all actions, [states, actions]."""
        import torch
        batches, rows = batches_and_rows
        embeddings = []
        for batch in batches:
            hidden = self.encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"],
                                  use_cache=False).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            embeddings.append((hidden * mask).sum(1) / mask.sum(1))
        return self.head(torch.cat(embeddings)).log_softmax(-1)[rows]


def play(policy, rng):
    """Returns the episodes of a step, by task and then sample."""
    import torch
    episodes = []
    for _ in range(PROMPTS):
        plan = rng.choice(PLANS)
        episodes += [Episode(plan, rng.randint(4, 8)) for _ in range(SAMPLES)]
    texts = 0
    with torch.no_grad():
        while open_episodes := [e for e in episodes if len(e.history) < e.steps]:
            states = [e.state() for e in open_episodes]
            texts += len(states) if policy.single else len(set(states))
            logprob_NA = policy.log_softmax(policy.batches_of(states))
            action_N = torch.multinomial(logprob_NA.exp(), 1)
            chosen_N = logprob_NA.gather(1, action_N).squeeze(1).tolist()
            for episode, state, action, logprob in zip(open_episodes, states, action_N.squeeze(1).tolist(), chosen_N):
                episode.states.append(state)
                episode.logprobs.append(logprob)
                episode.act(ACTIONS[action], rng)
    return episodes, texts


def advantages(episodes):
    """Returns each step's reward less the mean over the samples of its task that have this step, in order."""
    result = []
    for first in range(0, len(episodes), SAMPLES):
        group = episodes[first:first + SAMPLES]
        longest = max(e.steps for e in group)
        means = [statistics.fmean(e.rewards[t] for e in group if e.steps > t) for t in range(longest)]
        result += [reward - means[t] for e in group for t, reward in enumerate(e.rewards)]
    return result


def learn(policy, reference, optimizer, episodes):
    import torch
    states = [state for e in episodes for state in e.states]
    action = torch.tensor([ACTIONS.index(a) for e in episodes for a in e.history]).unsqueeze(1)
    old = torch.tensor([logprob for e in episodes for logprob in e.logprobs])
    advantage = torch.tensor(advantages(episodes))
    parameters = policy.parameters()
    batches = policy.batches_of(states)
    with torch.no_grad():
        reference_logprob = reference.log_softmax(batches)
    for _ in range(UPDATES):
        logprob = policy.log_softmax(batches)
        ratio = (logprob.gather(1, action).squeeze(1) - old).exp()
        objective = torch.min(ratio * advantage, ratio.clamp(1 - EPSILON, 1 + EPSILON) * advantage)
        divergence = (logprob.exp() * (logprob - reference_logprob)).sum(-1)
        optimizer.zero_grad(set_to_none=True)
        (BETA * divergence - objective).mean().backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()


def fastest_policy(folder, single):
    """Returns the policy with those of Transformers' implementations that make a pass over typical states fastest."""
    import random
    rng = random.Random(1)
    states = []
    for _ in range(8 if single else 320):
        episode = Episode(rng.choice(PLANS), 8)
        episode.history = rng.choices(ACTIONS, k=rng.randint(0, 7))
        states.append(episode.state())
    policies = [Policy(folder, single, experts, attention) for experts in ("eager", "grouped_mm", "batched_mm")
                for attention in ("eager", "sdpa")]

    def time_of(policy):
        start = time.process_time()
        policy.log_softmax(policy.batches_of(states))[:, 0].mean().backward()
        return time.process_time() - start

    best = min(policies, key=lambda policy: min(time_of(policy) for _ in range(5)))
    for parameter in best.parameters():
        parameter.grad = None
    return best


def time_peer(folder, threads, steps, how):
    """Prints a line of JSON."""
    import copy, random, warnings
    warnings.filterwarnings("ignore")
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    rng = random.Random(1)
    policy = fastest_policy(folder, how == "single")
    reference = copy.deepcopy(policy)
    for parameter in reference.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-5, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01,
                                  fused=True)
    seconds = time.process_time if threads == 1 else time.perf_counter
    sampled, learned, texts, whole = [], [], [], []
    for _ in range(steps):
        start = seconds()
        episodes, distinct = play(policy, rng)
        drawn = seconds()
        learn(policy, reference, optimizer, episodes)
        end = seconds()
        decisions = sum(e.steps for e in episodes)
        sampled.append(decisions / (drawn - start))
        learned.append(decisions / (end - drawn))
        whole.append(end - start)
        texts.append(distinct)
    skipped = min(WARM_UP, steps - 1)
    print(json.dumps({"sampled": statistics.median(sampled[skipped:]), "learned": statistics.median(learned[skipped:]),
                      "s_step": statistics.median(whole[skipped:]), "texts": statistics.median(texts[skipped:]),
                      "experts": policy.encoder.config._experts_implementation,
                      "attention": policy.encoder.config._attn_implementation}))


def make(folder, name, programs):
    """Writes the model into folder/run/model."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    settings = ["run.steps=1", "evaluation.every=0", "memory.stage1_steps=1", *MODELS[name]]
    run([f"{programs}/../../pipelines/train", os.path.join(root, CONFIG), "--output", f"{folder}/run", "--quiet",
         *(word for setting in settings for word in ("--set", setting))], {})
    return f"{folder}/run/model"


def measure(name, threads, programs, options):
    """Yields a label, a unit, our values and theirs, with one value for each round."""
    if name not in MODELS:
        return
    cores = {"OMP_NUM_THREADS": str(threads)}
    rows = {"ours": [], "batched": [], "single": []}
    steps = {"ours": 60, "batched": 13, "single": 3}
    with tempfile.TemporaryDirectory() as folder:
        model = make(folder, name, programs)
        commands = {"ours": [f"{programs}/agent_step", model, str(threads), str(steps["ours"])],
                    **{how: [options.python, os.path.abspath(__file__), model, str(threads), str(steps[how]), how]
                       for how in ("batched", "single")}}
        for _ in range(options.rounds):
            for side, command in commands.items():
                output = run(command, {**cores, **({} if side == "ours" else MALLOC)})
                rows[side].append(json.loads(output.strip().splitlines()[-1]))
    for how in ("batched", "single"):
        for what in ("sampled", "learned"):
            yield (f"PyTorch, {how}, decisions {what}", "decisions/s", [row[what] for row in rows["ours"]],
                   [row[what] for row in rows[how]])
        seconds = {side: [row["s_step"] for row in rows[side]] for side in ("ours", how)}
        yield f"PyTorch, {how}, step", "s", seconds["ours"], seconds[how]


if __name__ == "__main__":
    time_peer(sys.argv[1], *map(int, sys.argv[2:4]), sys.argv[4])
