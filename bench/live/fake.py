#!/usr/bin/env python3
"""Stand-ins for a dry run: programs that compute nothing and leave invented events.

  fake.py req|hog|cost|tenants ARGUMENT...   as the programs of those names
  fake.py mps | cotenantd | cotenant         as much of these as the runner uses

FAKE_FAIL=NAME makes the program of that name (or kind) fail, to try the runner out. Where the
emulated driver is preloaded (docs/emulated-gpu.md), req, hog and tenants really use that.
"""
import array
import ctypes
import json
import os
import random
import signal
import sys
import time

import tenants
from livebench.board import Reader


def option(argv, name, otherwise=""):
    return argv[argv.index(name) + 1] if name in argv[:-1] else otherwise


class Stretch:
    """When a program worked: between pauses."""

    def __init__(self):
        self.stopping = False
        self.since, self.all = None, []
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGUSR1, lambda *_: self._end())
        signal.signal(signal.SIGUSR2, lambda *_: self.begin())

    def begin(self):
        self.since = self.since or time.monotonic_ns()

    def _end(self):
        if self.since:
            self.all.append((self.since, time.monotonic_ns()))
            self.since = None

    def _stop(self, *_):
        self._end()
        self.stopping = True


class Emulated:
    """A context on the emulated GPU, and its kernel that lasts as long as it is told."""

    def __init__(self):
        self.cuda = ctypes.CDLL(None)
        context, module, self.spin, self.stream = (ctypes.c_void_p() for _ in range(4))
        self._call("cuInit", 0)
        # The one that the CUDA runtime uses; others cannot be placed.
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxSetCurrent", context)
        self._call("cuModuleLoadData", ctypes.byref(module), b"cotenant emulated kernels 1")
        self._call("cuModuleGetFunction", ctypes.byref(self.spin), module, b"spin")
        self._call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def _call(self, name, *arguments):
        rc = getattr(self.cuda, name)(*arguments)
        if rc:
            raise RuntimeError(f"{name} failed with {rc}")

    def run(self, n_blocks, block_us):
        block_ns, counter = ctypes.c_uint64(int(block_us * 1000)), ctypes.c_uint64(0)
        parameters = (ctypes.c_void_p * 2)(ctypes.addressof(block_ns), ctypes.addressof(counter))
        self._call("cuLaunchKernel", self.spin, n_blocks, 1, 1, 256, 1, 1, 0, self.stream,
                   parameters, None)
        begin = time.monotonic_ns()
        self._call("cuStreamSynchronize", self.stream)
        return begin, time.monotonic_ns()

    def work(self, stretch, latency, end, events):
        rng = random.Random(1)
        while not stretch.stopping and time.monotonic() < end:
            if not stretch.since:
                time.sleep(0.001)
            elif latency:
                time.sleep(rng.expovariate(1 / 4e-3))
                begin, stop = self.run(16, 100)
                events.extend((begin, begin, stop))
            else:
                begin, stop = self.run(1056, 20000)
                events.extend((begin, stop, 1))

    def answer(self, stretch, path, end, events):
        """Requests as the runner asks for them, marked."""
        stretch.events, stretch.is_stopping = events, lambda: stretch.stopping or time.monotonic() > end
        orders = tenants.Orders(stretch, path)
        while (arrival := orders.take()) is not None:
            with tenants.cotenant.request(arrival):
                begin, stop = self.run(16, 100)
            events.extend((arrival, begin, stop))
            orders.answered(stop - begin)


def emulated():
    return "emu/libcuda.so" in os.environ.get("LD_PRELOAD", "")


class Asked:
    """The stretches of time in which it was asked for so many requests (livebench/board.py)."""

    def __init__(self, path):
        self.board, self.all, self.n, self.last = Reader(path), [], 0.0, time.monotonic_ns()

    def look(self):
        now, news = time.monotonic_ns(), self.board.news()
        self.n += (now - self.last) / 1e9 * (self.all[-1][1] if self.all else 0)
        self.last = now
        self.board.tell(int(self.n), int(self.n) * REQUEST_NS, 0)
        if news:
            self.all.append((now, *news))

    def events(self, end, events):
        """One after the other, each as soon as it has arrived and the one before is answered."""
        rng, free = random.Random(), 0
        took = int(REQUEST_NS * (2.0 if "COTENANT_NAME" not in os.environ else 1.2))
        for (begin, rate, seed), (until, _, fresh) in zip(self.all, self.all[1:] + [(end, 0, 1)]):
            if seed:
                rng.seed(seed)
                free = begin
            arrival = begin
            while rate and (arrival := arrival + int(rng.expovariate(1.0) * 1e9 / rate)) < until:
                start = max(arrival, free)
                if fresh and start >= until:
                    events.extend((arrival, 0, until))
                    continue
                free = start + int(took * rng.uniform(0.98, 1.1))
                events.extend((arrival, start, free))


REQUEST_NS = 125_000
SHORT_US = 700


def requests(begin, end, rng, events):
    slow = 2.0 if "COTENANT_NAME" not in os.environ else 1.2
    while begin < end:
        begin += int(rng.expovariate(1 / 4e6))
        took = int(REQUEST_NS * slow * rng.uniform(0.98, 1.1))
        events.extend((begin, begin, begin + took))
        begin += took


def kernels(begin, end, each_ns, events):
    while begin + each_ns < end:
        events.extend((begin, begin + each_ns, 1))
        begin += each_ns


def segments(stretches, each_s):
    names = [f"{us:g}" for us in (40000, 10000, 1000, 100, 20)]
    out, i, each = [], 0, int(each_s * 1e9)
    for begin, end in stretches:
        while begin < end:
            out.append([names[i % 5], begin, min(end, begin + each)])
            begin, i = begin + each, i + 1
    return out


def program(kind, argv):
    what = argv[0] if argv and not argv[0].startswith("-") else kind
    if os.environ.get("FAKE_FAIL") in (kind, what):
        print("told to fail", file=sys.stderr)
        return 3
    stretch, rng, gpu = Stretch(), random.Random(1), Emulated() if emulated() else None
    end = time.monotonic() + float(option(argv, "--life", "60"))
    models = ("resnet-graph", "resnet-eager", "bert-graph", "gpt")
    latency = kind == "req" or what in models
    result = {"program": what, "iters": 49500, "role": "latency" if latency else "batch",
              "t_begin_ns": time.monotonic_ns(), "pid": os.getpid(), "torch": "invented"}
    if option(argv, "--ready"):
        open(option(argv, "--ready"), "w").close()
    go = option(argv, "--go")
    while go and not os.path.exists(go) and not stretch.stopping:
        time.sleep(0.002)
    stretch.begin()
    events = array.array("q")
    asked = Asked(option(argv, "--board")) if option(argv, "--board") else None
    if gpu and asked:
        gpu.answer(stretch, option(argv, "--board"), end, events)
    elif gpu:
        gpu.work(stretch, latency, end, events)
    while not stretch.stopping and time.monotonic() < end:
        time.sleep(0.002)
        if asked:
            asked.look()
    stretch._end()
    if asked and not gpu:
        asked.events(time.monotonic_ns(), events)
    for begin, stop in stretch.all:
        if gpu or asked:
            break
        if latency:
            requests(begin, stop, rng, events)
        else:
            kernels(begin, stop, 20_000_000, events)
    first = stretch.all[0][0] if stretch.all else 0
    result["notes"] = [[n, first + n * 20_000_000, f"{n:016x}"] for n in (8, 16, 32)]
    if "--each" in argv:
        result["segments"] = segments(stretch.all, float(option(argv, "--each")))
    with open(option(argv, "--out") + ".bin", "wb") as f:
        events.tofile(f)
    with open(option(argv, "--out"), "w") as f:
        json.dump(result, f)
    return 0


def cost(argv):
    now = time.monotonic_ns()
    result = {"program": "cost", "t_begin_ns": now, "t_init_ns": now + 100_000_000,
              "t_context_ns": now + 200_000_000, "t_kernel_ns": now + 210_000_000,
              "used_bytes": 500 << 20}
    for key in ("launch_ns", "launch_min_ns", "one_ns", "one_p99_ns", "graph_ns", "graph_p99_ns"):
        result[key] = 2000.0 + random.random()
    if option(argv, "--ready"):
        open(option(argv, "--ready"), "w").close()
        time.sleep(float(option(argv, "--life", "5")))
    with open(option(argv, "--out"), "w") as f:
        json.dump(result, f)
    return 0


def mps(argv):
    control = os.path.join(os.environ["CUDA_MPS_PIPE_DIRECTORY"], "control")
    if argv == ["-f"]:
        open(control, "w").close()
        while os.path.exists(control):
            time.sleep(0.01)
        return 0
    if sys.stdin.read().strip() == "quit" and os.path.exists(control):
        os.unlink(control)
    return 0


def in_runtime(name):
    return os.path.join(os.environ["COTENANT_RUNTIME_DIR"], name)


def read_configuration(path):
    """The keys that matter here, for the stand-in of `cotenant stats`."""
    with open(path) as f:
        keys = dict(line.split(": ", 1) for line in f.read().splitlines() if ": " in line and line[0] != " ")
    with open(in_runtime("configuration"), "w") as f:
        json.dump(keys, f)


def cotenantd(argv):
    read_configuration(option(argv, "--config"))
    if os.path.exists(in_runtime("lessons")):
        os.rename(in_runtime("lessons"), in_runtime("lessons.old"))
    with open(in_runtime("lessons"), "w") as f:
        f.write(str(os.getpid()))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGHUP, lambda *_: read_configuration(option(argv, "--config")))
    open(os.path.join(os.environ["COTENANT_RUNTIME_DIR"], "cotenantd.sock"), "w").close()
    while True:
        time.sleep(1)


def range_of(tenant, batch, keys):
    """First SM and number, as the policy `parts` would have it on 132 SMs for programs of equal
    weight."""
    if tenant["class"] == "latency":
        n = tenant["sms"] or 132
        return (0 if n == 132 else 128 - n), n
    if tenant["sms"]:
        return 0, tenant["sms"]
    units = (132 - 132 * int(keys.get("latency_permille", "500")) // 1000 + 4) // 8
    at = batch.index(tenant["name"])
    first = units * at // len(batch) * 8
    return first, units * (at + 1) // len(batch) * 8 - first


def part(tenant, batch, keys):
    first, n = range_of(tenant, batch, keys)
    launches = int(time.monotonic() * 1000)
    return {"can_be_placed": True, "first": first, "sms": n, "gpu_sms": 132, "unit": 8,
            "changes": 1, "launches_followed": launches,
            "launches_stayed": launches // 100, "stayed": {"launch-attribute": launches // 100}}


def stats():
    with open(in_runtime("configuration")) as f:
        keys = json.load(f)
    pool = {"name": "batch", "slice_us": 20, "slice_read_back_us": 20, "mode": "switch"}
    tenants = []
    for name in sorted(n for n in os.listdir(in_runtime("")) if n.startswith("tenant-")):
        with open(in_runtime(name)) as f:
            tenants.append(json.load(f))
    alive = [t for t in tenants if os.path.exists(f"/proc/{t['pid']}")]
    batch = [t["name"] for t in alive if t["class"] == "batch"]
    for tenant in alive:
        placed = keys["policy"] == "parts" or tenant["sms"]
        tenant["part"] = part(tenant, batch, keys) if placed else None
    print(json.dumps({"daemon": {"policy": keys["policy"], "policy_wanted": keys["policy"]},
                      "core": {}, "pools": [pool], "tenants": alive}))


def note(name, values):
    path = in_runtime(f"tenant-{name}")
    old = {}
    if os.path.exists(path):
        with open(path) as f:
            old = json.load(f)
    with open(path + "~", "w") as f:
        json.dump({**old, **values}, f)
    os.rename(path + "~", path)


def explain(name):
    """A short target would have been kept on parts."""
    with open(in_runtime(f"tenant-{name}")) as f:
        target = json.load(f).get("p99", 0)
    print("policy  slo: stand-in\n  arrangement        pools: by turns")
    if 0 < target < SHORT_US:
        print("  at the next start  parts, which would serve these programs better")


def profile_of(role):
    what = "inputs:\n  - size: 0\n    time_ns: [250000, 125000]\n" if role == "latency" else \
        "repeats:\n  time_ns: [40000000, 20000000]\n"
    return f"schema: cotenant.knowledge/1\nprogram: fake\nclass: {role}\ngpu: none\nsms: [64, 132]\n{what}"


def cotenant(argv):
    if argv[:1] == ["run"]:
        name = os.environ["COTENANT_NAME"] = option(argv, "--name")
        own, rest = argv[:argv.index("--")], argv[argv.index("--") + 1:]
        sms = int(option(own, "--sms")) if "--sms" in own else None
        note(name, {"name": name, "class": option(argv, "--class"), "sms": sms,
                    "pid": os.getpid()})
        os.execvp(rest[0], rest)
    if argv[:1] == ["set"] and "--sms" in argv:
        sms = option(argv, "--sms")
        note(argv[1], {"sms": None if sms == "none" else int(sms[:-1]) * 132 // 100 if sms[-1] == "%" else int(sms)})
    if argv[:1] == ["profile"]:
        with open(option(argv, "--output"), "w") as f:
            f.write(profile_of(option(argv, "--class")))
        if "--sizes" in argv:
            print("\n".join(f"{name:<12}  1.0 %  2.0 %  3.0 %  4.0 %" for name in ("tree", "3 nearest", "linear")))
    if argv[:1] == ["set"] and "--p99" in argv:
        target = option(argv, "--p99")
        note(argv[1], {"p99": None if target == "none" else float(target[:-2])})
    if argv[:1] == ["explain"]:
        explain(argv[1])
    if argv[:1] == ["stats"]:
        stats()
    if argv == ["list", "policies"]:
        print("slo  keeps targets\nsmqos  keeps rates")
    if argv[:1] == ["--version"]:
        print("cotenant 0 (stand-in)")
    return 0


def main():
    kind, argv = sys.argv[1], sys.argv[2:]
    special = {"cost": cost, "mps": mps, "cotenantd": cotenantd, "cotenant": cotenant}
    return special[kind](argv) if kind in special else program(kind, argv)


if __name__ == "__main__":
    sys.exit(main())
