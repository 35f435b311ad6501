#!/usr/bin/env python3
"""PyTorch programs (and one in JAX) for the live benchmark, with random weights and fixed seeds.

  latency: resnet-graph  bert-graph  resnet-eager  gpt
  batch:   gemm  resnet-train  bert-train  pointnet-train  gpt2-train  pegasus-train  whisper-train
           jax-train (in JAX)

Same life and same files as the C programs (common.cuh): warm up, write --ready, wait for --go, work
until SIGTERM, write --out and --out.bin; SIGUSR1 pauses, SIGUSR2 goes on.
"""
import argparse
import array
import ctypes
import gc
import hashlib
import json
import mmap
import os
import random
import signal
import sys
import time
import traceback
from collections import deque

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, os.pardir, os.pardir, "python"))

import cotenant  # noqa: E402  it marks the requests, where somebody listens
from livebench.board import Reader  # noqa: E402

NOTES_FROM = 8  # a hash of the result after 8, 16, 32, ... iterations
DEPTH = 2       # iterations in the queue


class Life:
    """Signals, hand-shake, and what is written at the end."""

    def __init__(self, args):
        self.args = args
        self.stopping = self.paused = False
        self.events = array.array("q")
        self.end_ns = time.monotonic_ns() + int(args.life * 1e9)
        latency = args.kind in LATENCY
        self.out = {"program": args.kind, "role": "latency" if latency else "batch",
                    "pid": os.getpid(), "t_begin_ns": time.monotonic_ns()}
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "paused", True))
        signal.signal(signal.SIGUSR2, lambda *_: setattr(self, "paused", False))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG: end with the runner
        libc.prctl(29, 1000, 0, 0, 0)           # PR_SET_TIMERSLACK

    def _stop(self, *_):
        self.stopping = True

    def is_stopping(self):
        return self.stopping or time.monotonic_ns() >= self.end_ns

    def ready_and_wait(self):
        self.out["t_ready_ns"] = time.monotonic_ns()
        if self.args.ready:
            with open(self.args.ready, "w"):
                pass
        while self.args.go and not os.path.exists(self.args.go) and not self.is_stopping():
            time.sleep(0.001)
        self.out["t_go_ns"] = time.monotonic_ns()

    def wait_while_paused(self):
        while self.paused and not self.is_stopping():
            time.sleep(0.0005)

    def write(self):
        self.out["t_end_ns"] = time.monotonic_ns()
        self.out["n_events"] = len(self.events) // 3
        if not self.args.out:
            print(json.dumps(self.out))
            return
        with open(self.args.out + ".bin", "wb") as f:
            self.events.tofile(f)
        with open(self.args.out + ".new", "w") as f:
            json.dump(self.out, f)
        os.rename(self.args.out + ".new", self.args.out)


class Cuda:
    name = "cuda"

    def __init__(self, torch):
        self.torch = torch

    def sync(self):
        self.torch.cuda.current_stream().synchronize()

    def mark(self):
        event = self.torch.cuda.Event()
        event.record()
        return event.synchronize

    def graph(self, work):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay


class Cpu:
    """Only for trying the programs out on a machine without a GPU."""
    name = "cpu"

    def __init__(self, torch):
        torch.set_num_threads(1)

    def sync(self):
        pass

    def mark(self):
        return lambda: None

    def graph(self, work):
        return work


# ---- latency programs: each returns what one request is ----

def make_resnet(ctx, as_graph):
    torch, args, device = ctx
    model, ctx.life.out["model"] = ctx.models.resnet50(args.own_models, args.small)
    model = model.to(ctx.half).eval().to(device.name).to(memory_format=torch.channels_last)
    x = torch.randn(1, 3, 224, 224, device=device.name).to(ctx.half)
    x = x.to(memory_format=torch.channels_last)
    return device.graph(lambda: model(x)) if as_graph else lambda: model(x)


def make_bert(ctx):
    torch, args, device = ctx
    model, forward, ctx.life.out["model"] = ctx.models.bert(False, args.own_models, args.small)
    model = model.to(ctx.half).eval().to(device.name)
    x = torch.randint(0, 30000, (1, 128), device=device.name)
    return device.graph(lambda: forward(model, x))


def make_gpt(ctx):
    _, args, device = ctx
    model = ctx.models.gpt(args.small).to(ctx.half).eval().to(device.name)
    ctx.life.out["model"] = "own"
    model.begin()
    # Each length is new to PyTorch and cuBLAS once, and then ten times as slow.
    for _ in range(model.n_places):
        model.step()
    device.sync()
    return model.step


LATENCY = {
    "resnet-graph": lambda ctx: make_resnet(ctx, True),
    "resnet-eager": lambda ctx: make_resnet(ctx, False),
    "bert-graph": make_bert,
    "gpt": make_gpt,
}


# ---- batch programs: each returns one iteration, and a hash of what was computed so far ----

def hash_of(*tensors):
    digest = hashlib.sha256()
    for t in tensors:
        digest.update(bytes(t.detach().cpu().contiguous().view(-1).numpy().tobytes()))
    return digest.hexdigest()[:16]


def bits(torch, t):
    """Sums of the bit patterns, so that no rounding hides a difference."""
    kind = {2: torch.int16, 4: torch.int32}[t.element_size()]
    return t.detach().contiguous().view(-1).view(kind).sum(dtype=torch.int64)


def make_gemm(ctx):
    torch, args, device = ctx
    n = 256 if args.small else 12288
    a = torch.randn(n, n, device=device.name).to(torch.bfloat16)
    b = torch.randn(n, n, device=device.name).to(torch.bfloat16)
    c = torch.empty_like(a)

    def digest():
        words = c.view(torch.int16)
        return hash_of(words.sum(0, dtype=torch.int64), words.sum(1, dtype=torch.int64))
    return lambda: torch.matmul(a, b, out=c), digest


def make_training(ctx, model, optimizer, loss_of):
    torch, _, device = ctx
    losses = []

    def step():
        with torch.autocast(device.name, torch.bfloat16):
            loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    def digest():
        sums = torch.stack([bits(torch, p) for p in model.parameters()])
        result = hash_of(torch.stack([loss.float() for loss in losses]), sums)
        del losses[:]
        return result
    return step, digest


def make_resnet_training(ctx):
    torch, args, device = ctx
    model, ctx.life.out["model"] = ctx.models.resnet50(args.own_models, args.small)
    model = model.train().to(device.name).to(memory_format=torch.channels_last)
    n, side = (2, 64) if args.small else (64, 224)
    x = torch.randn(n, 3, side, side, device=device.name).to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (n,), device=device.name)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    return make_training(ctx, model, optimizer, lambda: criterion(model(x), y))


def make_bert_training(ctx):
    torch, args, device = ctx
    model, loss_of, ctx.life.out["model"] = ctx.models.bert(True, args.own_models, args.small)
    model = model.train().to(device.name)
    shape = (2, 16) if args.small else (32, 512)
    x = torch.randint(0, 30000, shape, device=device.name)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    return make_training(ctx, model, optimizer, lambda: loss_of(model, x))


def make_other_training(ctx):
    torch, args, device = ctx
    with torch.device(device.name):
        model, loss_of = ctx.models.TRAININGS[args.kind](args.small)
    ctx.life.out["model"] = "own"
    optimizer = torch.optim.AdamW(model.train().parameters(), 1e-4)
    return make_training(ctx, model, optimizer, lambda: loss_of(model))


OTHER_TRAININGS = ("pointnet-train", "gpt2-train", "pegasus-train", "whisper-train")
BATCH = {"gemm": make_gemm, "resnet-train": make_resnet_training, "bert-train": make_bert_training,
         **{kind: make_other_training for kind in OTHER_TRAININGS}}


class JaxContext:
    """A training in JAX: what work_off() needs of a context, and of its device."""
    LAYERS = 12

    def __init__(self, life, args):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true"
        import jax
        import jax.numpy as jnp
        self.jax, self.life, self.args, self.device = jax, life, args, self
        life.out.update(jax=jax.__version__, t_import_ns=time.monotonic_ns())
        width, n = (64, 8) if args.small else (4096, 2048)
        key = jax.random.PRNGKey(args.seed)
        self.weights = [jax.random.normal(k, (width, width), jnp.bfloat16) * 0.02
                        for k in jax.random.split(key, self.LAYERS)]
        x = jax.random.normal(key, (n, width), jnp.bfloat16)

        def loss(weights):
            y = x
            for w in weights:
                y = jnp.tanh(y @ w)
            return jnp.mean((y - x).astype(jnp.float32) ** 2)
        self.update = jax.jit(lambda weights: [w - 0.1 * g for w, g in
                                               zip(weights, jax.grad(loss)(weights))])
        self.sum_bits = jax.jit(lambda w: jax.lax.bitcast_convert_type(w, jnp.int16).astype(jnp.int32).sum())

    def step(self):
        self.weights = self.update(self.weights)

    def digest(self):
        return hashlib.sha256(repr([int(self.sum_bits(w)) for w in self.weights]).encode()).hexdigest()[:16]

    def sync(self):
        self.jax.block_until_ready(self.weights)

    def mark(self):
        weights = self.weights
        return lambda: self.jax.block_until_ready(weights)


# ---- the loops ----

def wait_until(life, when_ns):
    left = when_ns - time.monotonic_ns()
    if left > 600_000:
        time.sleep(left / 1e9 - 0.0004)
    while time.monotonic_ns() < when_ns and not life.stopping:
        pass


def median(values):
    return sorted(values)[len(values) // 2]


def make_wipe(ctx):
    """Fills what caches the GPU has, as another program's work between two requests does."""
    torch, args, device = ctx
    if not args.cold:
        return lambda: None
    words = torch.zeros(64 << 20, dtype=torch.int32, device=device.name)

    def wipe():
        words.add_(1)
        device.sync()
    return wipe


def make_flag(path):
    """Shared with who wants to know whether a request is being worked on: 4 bytes, 1 or 0."""
    if not path:
        return bytearray(4)
    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), 4096)


class Orders:
    """Requests as the runner says while the program runs (livebench/board.py): open loop."""
    LOOK_NS = 2_000_000  # how often it looks at what is wanted, at least

    def __init__(self, life, path):
        self.life, self.board = life, Reader(path)
        self.rng, self.mean_ns, self.next_ns = random.Random(), 0.0, None
        self.arrived = deque()
        self.n = self.busy_ns = 0

    def _next(self, last_ns):
        return last_ns + int(self.rng.expovariate(1.0) * self.mean_ns) if self.mean_ns else None

    def _arrive(self, now):
        while self.next_ns is not None and self.next_ns <= now:
            self.arrived.append(self.next_ns)
            self.next_ns = self._next(self.next_ns)

    def give_up(self):
        """What has arrived will not be answered: events that begin at 0."""
        now = time.monotonic_ns()
        for arrival in self.arrived:
            self.life.events.extend((arrival, 0, now))
        self.arrived.clear()

    def _obey(self, now):
        news = self.board.news()
        if not news:
            return
        rate, seed = news
        self._arrive(now)
        if seed:
            self.give_up()
            self.rng.seed(seed)
        self.mean_ns = 1e9 / rate if rate > 0 else 0
        self.next_ns = self._next(now)

    def take(self):
        """The arrival of the next request, once one is there; None when all ends."""
        while not self.life.is_stopping():
            now = time.monotonic_ns()
            self._obey(now)
            self._arrive(now)
            self.board.tell(self.n, self.busy_ns, len(self.arrived))
            if self.arrived:
                return self.arrived.popleft()
            left = self.LOOK_NS if self.next_ns is None else min(self.next_ns - now, self.LOOK_NS)
            if left > 600_000:
                time.sleep((left - 400_000) / 1e9)
        self.give_up()
        return None

    def answered(self, took_ns):
        self.n += 1
        self.busy_ns += took_ns


def serve_orders(ctx, request):
    """As serve(), at the rates that the runner wants."""
    life, device = ctx.life, ctx.device
    orders = Orders(life, ctx.args.board)
    life.ready_and_wait()
    while (arrival := orders.take()) is not None:
        start = time.monotonic_ns()
        with cotenant.request(arrival):
            request()
            device.sync()
        end = time.monotonic_ns()
        life.events.extend((arrival, start, end))
        orders.answered(end - start)


def warm_up(ctx, request):
    """How long a request takes in the median, in ms."""
    life, args, device = ctx.life, ctx.args, ctx.device
    times = []
    for _ in range(args.warm):
        begin = time.monotonic_ns()
        request()
        device.sync()
        times.append(time.monotonic_ns() - begin)
    life.out["warm_ms"] = median(times[args.warm // 3:]) / 1e6
    gc.collect()
    gc.freeze()  # else collections of all that was imported show as slow requests
    return life.out["warm_ms"]


def serve(ctx, request):
    life, args, device = ctx.life, ctx.args, ctx.device
    solo_ms = warm_up(ctx, request)
    if args.board:
        serve_orders(ctx, request)
        return
    wipe, flag = make_wipe(ctx), make_flag(args.flag)
    gap_ms = args.gap_ms or solo_ms * (1 - args.duty) / args.duty
    mean_ns = 1e9 / args.rate if args.rate else gap_ms * 1e6
    life.out.update(gap_ms=gap_ms, rate=args.rate)
    rng = random.Random(args.seed)
    life.ready_and_wait()
    arrival = time.monotonic_ns()
    while not life.is_stopping():
        if life.paused:
            life.wait_while_paused()
            arrival = time.monotonic_ns()
        wipe()
        arrival += int(rng.expovariate(1.0) * mean_ns)
        wait_until(life, arrival)
        if life.stopping:
            break
        start = time.monotonic_ns()
        flag[0] = 1
        with cotenant.request(arrival):
            request()
            device.sync()
        end = time.monotonic_ns()
        flag[0] = 0
        life.events.extend((arrival, start, end))
        if not args.rate:
            arrival = end


def work_off(ctx, step, digest):
    life, device = ctx.life, ctx.device
    queue, notes = deque(), []
    n, next_note = 0, NOTES_FROM
    for _ in range(ctx.args.warm_batch):
        step()
    device.sync()
    life.out["warm_hash"] = digest()
    life.ready_and_wait()
    last = time.monotonic_ns()

    def end_one():
        nonlocal last
        queue.popleft()()
        now = time.monotonic_ns()
        life.events.extend((last, now, 1))
        last = now

    while not life.is_stopping():
        if life.paused:
            while queue:
                end_one()
            life.wait_while_paused()
            last = time.monotonic_ns()
            continue
        if n == next_note:
            while queue:
                end_one()
            notes.append([n, time.monotonic_ns(), digest()])
            next_note *= 2
        step()
        n += 1
        queue.append(device.mark())
        if len(queue) >= DEPTH:
            end_one()
    while queue:
        end_one()
    device.sync()
    life.out["notes"] = notes


class Context:
    """What a program is made with; unpacks as torch, args, device."""

    def __init__(self, life, args):
        import torch
        import models
        self.torch, self.models, self.life, self.args = torch, models, life, args
        self.device = Cuda(torch) if args.device == "cuda" else Cpu(torch)
        self.half = torch.half if args.device == "cuda" else torch.float

    def __iter__(self):
        return iter((self.torch, self.args, self.device))


def be_deterministic(torch):
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False


def run(life, args):
    if args.kind == "jax-train":
        ctx = JaxContext(life, args)
        work_off(ctx, ctx.step, ctx.digest)
        return
    if args.kind in BATCH:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    ctx = Context(life, args)
    torch = ctx.torch
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = False
    life.out.update(torch=torch.__version__, cuda=torch.version.cuda,
                    t_import_ns=time.monotonic_ns())
    if args.device == "cuda":
        life.out["gpu"] = torch.cuda.get_device_name(0)
    if args.kind in LATENCY:
        with torch.no_grad():
            serve(ctx, LATENCY[args.kind](ctx))
        return
    be_deterministic(torch)
    work_off(ctx, *BATCH[args.kind](ctx))
    if args.device == "cuda":
        life.out["memory_mib"] = torch.cuda.max_memory_allocated() >> 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=[*LATENCY, *BATCH, "jax-train"])
    parser.add_argument("--ready")
    parser.add_argument("--go")
    parser.add_argument("--out")
    parser.add_argument("--life", type=float, default=120, help="seconds until it ends by itself")
    parser.add_argument("--duty", type=float, default=0.1, help="share of the time in requests")
    parser.add_argument("--gap-ms", type=float, default=0, help="mean gap, instead of --duty")
    parser.add_argument("--rate", type=float, default=0, help="Poisson arrivals, instead of gaps")
    parser.add_argument("--board", metavar="FILE", help="the runner says on it how many come")
    parser.add_argument("--cold", action="store_true",
                        help="wipe the GPU's caches before each request")
    parser.add_argument("--flag", metavar="FILE",
                        help="set the first byte of this file while a request is worked on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm", type=int, default=60, help="requests to warm up with")
    parser.add_argument("--warm-batch", type=int, default=6, help="iterations to warm up with")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--own-models", action="store_true")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    life = Life(args)
    try:
        run(life, args)
    except Exception as e:  # the runner has to know why
        traceback.print_exc()
        life.out["error"] = f"{type(e).__name__}: {e}"[:500]
        life.write()
        return 3
    life.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
