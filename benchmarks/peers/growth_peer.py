"""Compares training steps of networks that grow with the same loop in PyTorch, for compare.py: the same hosts, seeds,
batches, epochs, gates and updates, on the same machine.

As a program, executed by an interpreter with PyTorch, it times the peer: `growth_peer.py CONFIG THREADS STEPS` plays
episodes of CONFIG's hosts with a controller that is as random as it begins, and prints a line of JSON.

A step of either side plays eight episodes: for max_epochs epochs a convolutional host is trained,
with a seed in its slot, and validated, once more without the seed where it has a share; its governor keeps copies; the
controller draws an allowed action. Then PPO updates the controller from all episodes. Both sides follow the same rules
for stages, gates and actions, so that hosts have seeds for about as long; which is drawn differs.

The peer augments an epoch's images at once, uses channels_last and fused SGD, and of the memory formats takes the one
that it finds faster. Its rewards lack what an action is worth in a stage, which costs no time; it writes no records.
With one thread, seconds are the processor's on both sides: they exclude the turns of other processes.
"""
import copy, json, math, os, statistics, sys, time, tomllib

from trl_peer import MALLOC, run

CONFIG = "configs/morphogenesis.toml"
HOST = {"base_channels": 8, "train_examples": 256, "validation_examples": 256}
MODELS = {  # what the configuration's hosts are changed to
    "growth": HOST,
    "growth32": {**HOST, "image_size": 32, "batch_size": 128, "train_examples": 512},  # as esper-lite has them
}
EPISODES = 8  # of a step
BLUEPRINTS = ["norm", "attention", "depthwise", "conv_light", "conv_heavy"]
WAIT, FOSSILIZE, CULL, ACTIONS = 0, 6, 7, 8
GERMINATED, TRAINING, BLENDING, SHADOWING, PROBATIONARY = 2, 3, 4, 5, 6
POTENTIAL = [0, 0, 1, 2, 3.5, 4.5, 5.5, 6]
FEATURES, CLASSES, PADDING = 45, 10, 4
DEFAULTS = {"train_examples": 512, "validation_examples": 256, "batch_size": 128, "image_size": 32, "max_epochs": 25,
            "base_channels": 8, "blocks": 3, "host_learning_rate": 0.01, "seed_learning_rate": 0.01, "momentum": 0.9,
            "weight_decay": 5e-4, "augments": True, "embargo_epochs": 5}


def config_of(path, changes):
    with open(path, "rb") as file:
        table = tomllib.load(file)
    table["morphogenesis"] = {**DEFAULTS, **table["morphogenesis"], **changes}
    return table


def groups_of(channels):
    """Groups of a convolution's normalisation: of 16 channels or more."""
    return next((g for g in (32, 16, 8, 4, 2, 1) if channels % g == 0 and channels // g >= 16), 1)


def seed_of(name, c):
    """Returns the module of a blueprint for a slot of c channels."""
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, *layers):
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x):
            return x + self.layers(x)

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.scale = nn.GroupNorm(math.gcd(32, c), c), nn.Parameter(torch.ones(()))

        def forward(self, x):
            # PyTorch 2.13 crashes in the gradient of a channels_last GroupNorm whose input needs none.
            x = x.detach().requires_grad_() if torch.is_grad_enabled() and not x.requires_grad else x
            return torch.lerp(x, self.norm(x), self.scale)

    class SqueezeExcite(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Sequential(nn.Linear(c, max(1, c // 4), bias=False), nn.ReLU(),
                                      nn.Linear(max(1, c // 4), c, bias=False), nn.Sigmoid())

        def forward(self, x):
            return x * self.gate(x.mean((2, 3)))[:, :, None, None]

    def block():
        return [nn.Conv2d(c, c, 3, padding=1, bias=False), nn.GroupNorm(groups_of(c), c), nn.ReLU(inplace=True)]

    return {"norm": Norm, "attention": SqueezeExcite,
            "depthwise": lambda: Residual(nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False),
                                          nn.Conv2d(c, c, 1, bias=False), nn.GroupNorm(groups_of(c), c),
                                          nn.ReLU(inplace=True)),
            "conv_light": lambda: Residual(*block()), "conv_heavy": lambda: Residual(*block(), *block())}[name]()


class Seed:
    """A seed in the slot: its module, optimizer and stage."""

    def __init__(self, blueprint, channels, accuracy, task, memory_format):
        import torch
        self.module = seed_of(BLUEPRINTS[blueprint], channels).to(memory_format=memory_format)
        self.blueprint, self.stage, self.alpha, self.ramp = blueprint, GERMINATED, 0.0, 0
        self.in_stage = self.age = 0
        self.params = sum(p.numel() for p in self.module.parameters())
        self.sgd = torch.optim.SGD(self.module.parameters(), lr=task["seed_learning_rate"], momentum=task["momentum"],
                                   fused=True)
        self.at_stage_start, self.accuracy, self.ratio, self.contribution = accuracy, accuracy, None, None
        self.norm, self.before = 0.0, (1, 0)

    def enter(self, stage):
        self.before = (self.stage, self.in_stage)
        self.stage, self.in_stage, self.at_stage_start = stage, 0, self.accuracy

    def improvement(self):
        return self.accuracy - self.at_stage_start

    def step_epoch(self, dwell):
        if self.stage == TRAINING and self.in_stage >= max(dwell, 3) and self.improvement() >= 0.5 and (
                self.ratio or 0) >= 0.05:
            self.enter(BLENDING)
        elif self.stage == BLENDING:
            self.ramp += 1
            self.alpha = 1.0 if self.ramp >= 5 else 0.5 * (1 + math.tanh((self.ramp - 2.5) / 2))
            if self.ramp >= 5 and self.in_stage >= 3:
                self.enter(SHADOWING)
        elif self.stage == SHADOWING and self.in_stage >= dwell:
            self.enter(PROBATIONARY)


def make_host(task):
    """Returns the layers before the slot and those behind it."""
    from torch import nn
    parts, channels = ([], []), 3
    for i in range(task["blocks"]):
        out = task["base_channels"] << i
        parts[0 if i < 2 else 1].extend([nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out),
                                         nn.ReLU(inplace=True), nn.MaxPool2d(2)])
        channels = out
    parts[1].extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)])
    return nn.ModuleList([nn.Sequential(*parts[0]), nn.Sequential(*parts[1])])


class Host:
    def __init__(self, task, memory_format):
        import torch
        self.task, self.memory_format = task, memory_format
        self.layers = make_host(task).to(memory_format=memory_format)
        self.params = sum(p.numel() for p in self.layers.parameters())
        self.sgd = torch.optim.SGD(self.layers.parameters(), lr=task["host_learning_rate"], momentum=task["momentum"],
                                   weight_decay=task["weight_decay"], fused=True)
        self.seed, self.fossils, self.embargo, self.norm = None, [], 0, 0.0

    def forward(self, images, alpha=None):
        import torch
        h = self.layers[0](images)
        for fossil in self.fossils:
            h = fossil(h)
        seed = self.seed
        if seed is not None:
            share = seed.alpha if alpha is None else alpha
            if seed.stage == TRAINING and share == 0:
                if torch.is_grad_enabled():
                    grown = seed.module(h.detach())
                    h = h + (grown - grown.detach())
            elif share > 0 or torch.is_grad_enabled():
                h = torch.lerp(h, seed.module(h), share)
        return self.layers[1](h)

    def train(self, batches):
        import torch
        from torch.nn import functional
        seed, loss_sum, correct = self.seed, 0.0, 0
        if seed is not None and seed.stage == GERMINATED:
            seed.enter(TRAINING)
        self.layers.train()
        for i, (images, targets) in enumerate(batches):
            self.sgd.zero_grad(set_to_none=True)
            if seed is not None:
                seed.sgd.zero_grad(set_to_none=True)
            logits = self.forward(images)
            loss = functional.cross_entropy(logits, targets)
            loss.backward()
            if i + 1 == len(batches):
                self.norm = torch.nn.utils.get_total_norm(
                    [p.grad for p in self.layers.parameters() if p.grad is not None]).item()
                if seed is not None:
                    seed.norm = torch.nn.utils.get_total_norm(
                        [p.grad for p in seed.module.parameters() if p.grad is not None]).item()
                    ratio = seed.norm / math.sqrt(seed.params) / (self.norm / math.sqrt(self.params) + 1e-8)
                    seed.ratio = ratio if seed.ratio is None else 0.9 * seed.ratio + 0.1 * ratio
            self.sgd.step()
            if seed is not None:
                seed.sgd.step()
            loss_sum += loss.detach()
            correct += (logits.argmax(1) == targets).sum()
        return float(loss_sum) / len(batches), 100 * int(correct) / sum(len(t) for _, t in batches)

    def validate(self, batches, alpha=None):
        import torch
        from torch.nn import functional
        self.layers.eval()
        loss_sum, correct = 0.0, 0
        with torch.inference_mode():
            for images, targets in batches:
                logits = self.forward(images, alpha)
                loss_sum += functional.cross_entropy(logits, targets)
                correct += (logits.argmax(1) == targets).sum()
        return float(loss_sum) / len(batches), 100 * int(correct) / sum(len(t) for _, t in batches)

    def snapshot(self):
        return copy.deepcopy((self.layers.state_dict(), self.sgd.state_dict()))


def draw_images(count, side):
    """Returns gratings whose orientations are their class, in noise, and the classes."""
    import torch
    label = torch.arange(count) % CLASSES
    angle = (label % 5) * math.pi / 8
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    phase = 2 * math.pi * torch.rand(count)[:, None, None]
    wave = torch.sin(2 * math.pi / 9 * (angle.cos()[:, None, None] * x + angle.sin()[:, None, None] * y) + phase)
    fine = torch.sin(2 * math.pi / 4.5 * torch.where((label < 5)[:, None, None], x, y) + phase)
    return (wave[:, None] * 0.7 + fine[:, None] * 0.5 + torch.randn(count, 3, side, side)), label


def augmented(images):
    """Returns all images cropped from a padded frame and mirrored, at random."""
    import torch
    n, _, side, _ = images.shape
    padded = torch.nn.functional.pad(images, [PADDING] * 4)
    top, left = torch.randint(0, 2 * PADDING + 1, (2, n))
    rows = top[:, None] + torch.arange(side)
    columns = left[:, None] + torch.arange(side)
    columns = torch.where(torch.rand(n, 1) < 0.5, columns.flip(1), columns)
    return padded[torch.arange(n)[:, None, None, None], torch.arange(3)[None, :, None, None], rows[:, None, :, None],
                  columns[:, None, None, :]]


class Signals:
    def __init__(self):
        self.losses, self.accuracies, self.plateau, self.stable, self.is_stabilized = [], [], 0, 0, False

    def update(self, loss, accuracy):
        if self.losses:
            before = self.losses[-1]
            self.plateau = self.plateau + 1 if accuracy - self.accuracies[-1] < 0.5 else 0
            is_stable = (before - loss) / before < 0.03 and loss < 1.5 * before
            self.stable = self.stable + 1 if is_stable else 0
            self.is_stabilized |= self.stable >= 3
        self.losses.append(loss)
        self.accuracies.append(accuracy)

    def delta(self):
        return self.accuracies[-1] - self.accuracies[-2] if len(self.accuracies) > 1 else 0.0


def features_of(task, epoch, trained, signals, host):
    seed, epochs = host.seed, epoch / task["max_epochs"]
    history = lambda values, scale: ([0.0] * 5 + [v / scale for v in values])[-5:]
    features = [epochs, epoch / 400, trained[0] / 10, signals.losses[-1] / 10, 0.0, trained[1] / 100,
                signals.accuracies[-1] / 100, signals.delta() / 50, signals.plateau / 20, max(signals.accuracies) / 100,
                min(signals.losses) / 10, *history(signals.losses, 10), *history(signals.accuracies, 100)]
    if seed is None:
        return features + [0.0, 0, 0, 0, 0, float(host.embargo == 0), 0, min(host.norm, 10) / 10, epochs] + [0.0] * 15
    features += [1.0, seed.stage / 7, seed.in_stage / 50, seed.alpha, seed.improvement() / 10, 0.0,
                 (seed.contribution or 0) / 10, min(host.norm, 10) / 10, epochs]
    features += [float(seed.blueprint == b) for b in range(5)]
    return features + [min(seed.norm, 10) / 10, 1.0, 0.0, 0.0, seed.in_stage / 50, signals.accuracies[-1] / 100,
                       signals.delta() / 10, (seed.stage - 1) / 6, seed.alpha, epochs]


def mask_of(epoch, signals, host):
    seed = host.seed
    germinates = seed is None and not host.embargo and signals.is_stabilized and epoch >= 5 and signals.plateau >= 3
    return [True] + [germinates] * 5 + [seed is not None and seed.stage == PROBATIONARY,
                                        seed is not None and seed.stage >= TRAINING and seed.age >= 10]


def reward_of(task, epoch, signals, host):
    seed = host.seed
    added = sum(p.numel() for f in host.fossils for p in f.parameters()) + (seed.params if seed else 0)
    reward = 2 * signals.delta() - min(0.5 * math.log(1 + added / host.params), 8)
    if seed is not None:
        stage, epochs = seed.before if seed.in_stage == 0 else (seed.stage, seed.in_stage - 1)
        value = lambda s, e: POTENTIAL[s] + min(0.5 * e, 3) if s > 1 else 0
        reward += 0.3 * (0.99 * value(seed.stage, seed.in_stage) - value(stage, epochs))
    return reward + (0.05 * signals.accuracies[-1] if epoch == task["max_epochs"] else 0)


class Controller:
    def __init__(self, trunk, hidden):
        import torch
        from torch import nn

        def layers(widths, gain):
            parts = []
            for i, (a, b) in enumerate(zip(widths, widths[1:])):
                linear = nn.Linear(a, b)
                nn.init.orthogonal_(linear.weight, gain if i + 2 == len(widths) else math.sqrt(2))
                nn.init.zeros_(linear.bias)
                parts += [linear, nn.ReLU()]
            return nn.Sequential(*parts)

        self.trunk = layers([FEATURES, *trunk], math.sqrt(2))
        shared = trunk[-1] if trunk else FEATURES
        self.actor = layers([shared, *hidden, ACTIONS], 0.01)[:-1]
        self.critic = layers([shared, *hidden, 1], 1.0)[:-1]
        self.parameters = [p for m in (self.trunk, self.actor, self.critic) for p in m.parameters()]
        self.adam = torch.optim.Adam(self.parameters, lr=1e-6, eps=1e-5, fused=True)

    def __call__(self, features, allowed):
        import torch
        shared = self.trunk(features)
        logits = self.actor(shared).masked_fill(~allowed, torch.finfo(torch.float32).min)
        return logits.log_softmax(-1), self.critic(shared).squeeze(-1)


def act(host, action, accuracy, task):
    """Carries out an action; returns whether the network's structure changed."""
    if WAIT < action < FOSSILIZE:
        host.seed = Seed(action - 1, 2 * task["base_channels"], accuracy, task, host.memory_format)
    elif action == FOSSILIZE and (host.seed.contribution or 0) > 0:
        host.fossils.append(host.seed.module.requires_grad_(False))
        host.seed = None
        return True
    elif action == CULL:
        host.seed, host.embargo = None, task["embargo_epochs"]
    return False


def play(task, controller, data, memory_format):
    """Returns an episode's features, masks, actions, log-probabilities, values and rewards."""
    import torch
    (images, targets), validation = data
    host, signals, steps = Host(task, memory_format), Signals(), []
    kept = host.snapshot()
    dwell, size = max(1, task["max_epochs"] // 10), task["batch_size"]
    for epoch in range(1, task["max_epochs"] + 1):
        order = torch.randperm(len(images))
        epoch_images = (augmented(images[order]) if task["augments"] else images[order]).contiguous(
            memory_format=memory_format)
        trained = host.train(list(zip(epoch_images.split(size), targets[order].split(size))))
        loss, accuracy = host.validate(validation)
        seed = host.seed
        if seed is not None:
            seed.accuracy, seed.in_stage, seed.age = accuracy, seed.in_stage + 1, seed.age + 1
            if seed.alpha > 0:
                seed.contribution = accuracy - host.validate(validation, 0.0)[1]
            seed.step_epoch(dwell)
        elif host.embargo:
            host.embargo -= 1
        signals.update(loss, accuracy)
        features = torch.tensor(features_of(task, epoch, trained, signals, host))
        allowed = torch.tensor(mask_of(epoch, signals, host))
        with torch.no_grad():
            logprob_A, value = controller(features, allowed)
            action = int(torch.multinomial(logprob_A.exp(), 1))
        steps.append((features, allowed, action, float(logprob_A[action]), float(value),
                      reward_of(task, epoch, signals, host)))
        if act(host, action, accuracy, task) or epoch % 5 == 0:
            kept = host.snapshot()
    return steps


def advantages_of(steps, gamma, lam):
    result, running, following = [], 0.0, 0.0
    for *_, value, reward in reversed(steps):
        running = reward + gamma * following - value + gamma * lam * running
        result.append(running)
        following = value
    return result[::-1]


def learn(controller, episodes, algorithm, entropy_scale=math.log(ACTIONS)):
    import torch
    steps = [step for episode in episodes for step in episode]
    advantage = torch.tensor([a for e in episodes for a in advantages_of(e, algorithm["gamma"], algorithm["lam"])])
    features, allowed = (torch.stack([s[i] for s in steps]) for i in (0, 1))
    action = torch.tensor([s[2] for s in steps])
    old, value = (torch.tensor([s[i] for s in steps]) for i in (3, 4))
    returns = advantage + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    of_episode, size = len(episodes[0]), algorithm["mini_batch_size"]
    for _ in range(algorithm["num_iterations"]):
        for part in torch.randperm(len(episodes)).split(size):
            rows = (part[:, None] * of_episode + torch.arange(of_episode)).flatten()
            logprob_A, now = controller(features[rows], allowed[rows])
            logprob = logprob_A.gather(1, action[rows, None]).squeeze(1)
            ratio, a = (logprob - old[rows]).exp(), advantage[rows]
            policy = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
            clipped = value[rows] + (now - value[rows]).clamp(-0.2, 0.2)
            of_values = 0.5 * torch.max((now - returns[rows])**2, (clipped - returns[rows])**2).mean()
            entropy = -(logprob_A.exp() * logprob_A.clamp_min(-1e9)).sum(-1).mean() / entropy_scale
            controller.adam.zero_grad(set_to_none=True)
            (policy + algorithm["vf_coef"] * of_values - algorithm["entropy_coef"] * entropy).backward()
            torch.nn.utils.clip_grad_norm_(controller.parameters, 0.5)
            controller.adam.step()


def data_of(task, memory_format):
    images, targets = draw_images(task["train_examples"], task["image_size"])
    held_out, labels = draw_images(task["validation_examples"], task["image_size"])
    size = task["batch_size"]
    batches = zip(held_out.contiguous(memory_format=memory_format).split(size), labels.split(size))
    return (images, targets), list(batches)


def faster_format(task):
    """Returns the memory format in which an epoch of a host takes less time."""
    import torch

    def time_of(memory_format):
        host, (examples, validation) = Host(task, memory_format), data_of(task, memory_format)
        batches = [(i.contiguous(memory_format=memory_format), t) for i, t in zip(
            examples[0].split(task["batch_size"]), examples[1].split(task["batch_size"]))]
        times = []
        for _ in range(6):
            start = time.process_time()
            host.train(batches)
            host.validate(validation)
            times.append(time.process_time() - start)
        return min(times)

    return min((torch.channels_last, torch.contiguous_format), key=time_of)


def time_peer(path, threads, steps, changes):
    """Prints a line of JSON."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    table = config_of(path, changes)
    task, algorithm = table["morphogenesis"], table["algorithm"]
    widths = [[int(w) for w in str(task.get(key, default)).split()] for key, default in
              (("trunk", "256 256"), ("hidden", "128"))]
    memory_format = faster_format(task)
    controller, data = Controller(*widths), data_of(task, memory_format)
    seconds = time.process_time if threads == 1 else time.perf_counter
    times, with_seed = [], 0
    for _ in range(steps + 1):  # the first does not count
        start = seconds()
        played = [play(task, controller, data, memory_format) for _ in range(EPISODES)]
        learn(controller, played, algorithm)
        times.append(seconds() - start)
        with_seed = sum(float(step[0][21]) for episode in played for step in episode) / EPISODES
    mean = statistics.fmean(times[1:])
    print(json.dumps({"s_step": mean, "episodes_per_s": EPISODES / mean, "seed_epochs": with_seed,
                      "format": str(memory_format)}))


def measure(name, threads, programs, options):
    """Yields a label, a unit, our values and theirs, with one value for each round."""
    if name not in MODELS:
        return
    cores = {"OMP_NUM_THREADS": str(threads)}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", CONFIG)
    settings = {"rollout.prompts_per_step": EPISODES, **{f"morphogenesis.{k}": v for k, v in MODELS[name].items()}}
    changes = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    commands = {"ours": [f"{programs}/growth_step", path, str(threads), "3", *changes],
                "theirs": [options.python, os.path.abspath(__file__), path, str(threads), "3", json.dumps(MODELS[name])]}
    rows = {side: [] for side in commands}
    for _ in range(options.rounds):
        for side, command in commands.items():
            output = run(command, {**cores, **({} if side == "ours" else MALLOC)})
            rows[side].append(json.loads(output.strip().splitlines()[-1])["episodes_per_s"])
    yield "PyTorch, growing networks", "episodes/s", rows["ours"], rows["theirs"]


if __name__ == "__main__":
    time_peer(sys.argv[1], *map(int, sys.argv[2:4]), json.loads(sys.argv[4]) if len(sys.argv) > 4 else {})
