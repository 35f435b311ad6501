#!/usr/bin/env python3
"""Programs of which every bit of the result is known beforehand: from a run of their own.

  programs.py KIND STEPS      KIND: resnet bert gpt graph gemm compile jax

Prints one line of JSON: a hash of all that was computed, the time of a step, the versions. Where the
GPU is shared or the program is moved about, the hash has to stay the same.
"""
import hashlib
import json
import os
import sys
import time

# Rows, columns, inner dimension: large, small, odd and narrow ones, whole waves of blocks and not.
SHAPES = [(4096, 4096, 4096), (8192, 1024, 512), (64, 4096, 11008), (1, 4096, 4096),
          (333, 777, 555), (2048, 2048, 64), (128, 128, 8192), (5000, 300, 1200), (16, 16, 16),
          (1024, 50304, 768), (2560, 2560, 2560), (7, 9000, 33), (512, 512, 512),
          (12288, 256, 256)]
SAMPLES = 64        # elements of each product that are checked
WARM_STEPS = 3
GRAPH_NOTES = 50    # replays from one hash to the next


class Result:
    def __init__(self, kind, steps):
        self.digest, self.out = hashlib.sha256(), {"kind": kind, "steps": steps}
        self.begin_ns = 0

    def add(self, array):
        self.digest.update(array.tobytes())

    def begin(self):
        self.begin_ns = time.monotonic_ns()

    def end(self):
        took_ms = (time.monotonic_ns() - self.begin_ns) / 1e6
        self.out["ms_per_step"] = round(took_ms / self.out["steps"], 4)

    def write(self):
        self.out["hash"] = self.digest.hexdigest()[:16]
        print(json.dumps(self.out), flush=True)


# ---- JAX ----

def run_jax(result, steps):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true"
    import jax
    import jax.numpy as jnp
    import numpy as np
    key = jax.random.PRNGKey(0)
    weights = [jax.random.normal(k, (1024, 1024), jnp.float32) * 0.03
               for k in jax.random.split(key, 6)]
    x = jax.random.normal(key, (512, 1024))

    def loss(weights):
        y = x
        for w in weights:
            y = jnp.tanh(y @ w)
        return jnp.mean((y - x) ** 2)

    @jax.jit
    def step(weights):
        return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights))]
    weights = jax.block_until_ready(step(weights))
    result.begin()
    for _ in range(steps):
        weights = step(weights)
    jax.block_until_ready(weights)
    result.end()
    for w in weights:
        result.add(np.asarray(w))
    result.out["versions"] = {"jax": jax.__version__}


# ---- PyTorch ----

def resnet50():
    try:
        import torchvision
        return torchvision.models.resnet50()
    except ImportError:
        live = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "live")
        sys.path.insert(0, live)
        import models
        return models.resnet50(True)[0]


def training(torch, kind):
    """A model, and what makes the loss of one step."""
    if kind == "resnet":
        model = resnet50().cuda().to(memory_format=torch.channels_last)
        x = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        y = torch.randint(0, 1000, (32,), device="cuda")
        return model, lambda: torch.nn.functional.cross_entropy(model(x), y)
    import transformers
    if kind == "bert":
        model = transformers.BertForMaskedLM(transformers.BertConfig(num_hidden_layers=6))
    else:
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=6))
    model = model.cuda().train()
    words = torch.randint(0, 20000, (8, 128), device="cuda")
    return model, lambda: model(input_ids=words, labels=words).loss


def numbers(tensor):
    return tensor.detach().float().cpu().numpy()


def run_training(torch, kind, result, steps):
    model, loss_of = training(torch, kind)
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-4), []

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    for _ in range(WARM_STEPS):
        step()
    torch.cuda.synchronize()
    result.begin()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    result.end()
    for tensor in [*losses, *model.parameters()]:
        result.add(numbers(tensor))
    result.out["loss"] = float(losses[-1])


def run_graph(torch, result, steps):
    model = resnet50().cuda().eval().half().to(memory_format=torch.channels_last)
    x = torch.randn(8, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(WARM_STEPS):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    torch.cuda.synchronize()
    result.begin()
    for i in range(steps):
        graph.replay()
        x.add_(y.mean() * 0.001)
        if i % GRAPH_NOTES == 0:
            result.add(numbers(y))
    torch.cuda.synchronize()
    result.end()
    result.add(numbers(y))


def check_product(torch, shape, result):
    """The largest error of some elements against fp64, by the size that sums of so many have."""
    n_rows, n_columns, inner = shape
    a = torch.randn(n_rows, inner, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(inner, n_columns, device="cuda", dtype=torch.bfloat16)
    c = a @ b
    i = torch.randint(0, n_rows, (SAMPLES,), device="cuda")
    j = torch.randint(0, n_columns, (SAMPLES,), device="cuda")
    right = (a[i].double() * b[:, j].t().double()).sum(1)
    bits = c.view(torch.int16)
    for side in (0, 1):
        result.add(bits.sum(side, dtype=torch.int64).cpu().numpy())
    return float(((c[i, j].double() - right).abs() / inner ** 0.5).max())


def run_gemm(torch, result, steps):
    worst = 0.0
    result.begin()
    for n in range(steps):
        worst = max(worst, check_product(torch, SHAPES[n % len(SHAPES)], result))
    result.end()
    result.out["worst_error"] = worst


def run_compile(torch, result, steps):
    layers = [torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.GELU(),
                                  torch.nn.LayerNorm(1024)) for _ in range(4)]
    model = torch.compile(torch.nn.Sequential(*layers).cuda())
    x = torch.randn(256, 1024, device="cuda")
    with torch.no_grad():
        model(x)
        torch.cuda.synchronize()
        result.begin()
        for _ in range(steps):
            x = model(x)
        torch.cuda.synchronize()
        result.end()
    result.add(numbers(x))


def run_torch(kind, result, steps):
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    if kind in ("resnet", "bert", "gpt"):
        run_training(torch, kind, result, steps)
    else:
        {"graph": run_graph, "gemm": run_gemm, "compile": run_compile}[kind](torch, result, steps)
    result.out["versions"] = {"torch": torch.__version__, "torch_cuda": torch.version.cuda,
                              "cudnn": torch.backends.cudnn.version()}


def main():
    kind, steps = sys.argv[1], int(sys.argv[2])
    result = Result(kind, steps)
    if kind == "jax":
        run_jax(result, steps)
    else:
        run_torch(kind, result, steps)
    result.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
