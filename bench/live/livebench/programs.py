"""The programs that share the GPU: what they are called here, and how they are started."""
from dataclasses import dataclass

LOADS = {"low": 0.10, "medium": 0.30, "high": 0.60, "busy": 0.80}

# About how long a request takes alone on an H200, in ms: fixes the gaps, so that all ways are asked
# the same. The duty that came of it is measured and reported.
SOLO_MS = {"resnet-graph": 0.95, "bert-graph": 1.07, "resnet-eager": 3.5, "gpt": 3.0}

REQUEST_US = 100
REQUEST_TARGET_US = 400  # p99, whatever it is alone


@dataclass(frozen=True)
class Program:
    spec: str         # its name in cells and results
    role: str         # latency or batch
    tool: str         # req, hog, tenants
    arguments: tuple
    checked: bool = False  # leaves hashes of its result

    @property
    def torch(self):
        return self.tool == "tenants"

    @property
    def short_request(self):
        """The 100 us program has a target in us, the others one as a multiple."""
        return self.tool == "req" and str(REQUEST_US) in self.arguments


def _requests(spec, *arguments):
    us = () if "--us" in arguments else ("--us", str(REQUEST_US))
    return Program(spec, "latency", "req", (*us, *arguments))


def _model(kind, load):
    duty = LOADS[load]
    gap_ms = SOLO_MS[kind] * (1 - duty) / duty
    return Program(f"{kind}@{load}", "latency", "tenants", (kind, "--gap-ms", f"{gap_ms:.3f}"))


def _open_loop(kind):
    """At rates that the runner says while it runs."""
    return Program(f"{kind}@open", "latency", "tenants", (kind,))


def _hog(spec, *arguments, checked=True):
    return Program(spec, "batch", "hog", arguments, checked)


def _training(kind):
    return Program(kind, "batch", "tenants", (kind,), True)


# One request is a graph of 40 kernels, which note their times.
_PARTS = ("--us", "800", "--graph", "40", "--stamps")

_ALL = [
    _requests("req", "--gap-us", "4000"),
    _requests("req@1ms", "--gap-us", "1000"),
    _requests("req@300us", "--gap-us", "300"),
    _requests("req-open", "--rate", "250"),
    _requests("req-graph", "--gap-us", "4000", "--graph", "10"),
    # Requests of as many blocks as their size says: `cotenant profile` puts it in.
    _requests("req-sizes", "--iters", "25000", "--blocks", "{}", "--gap-us", "300"),
    _requests("req-parts", *_PARTS, "--gap-us", "4000"),
    _requests("req-parts@1ms", *_PARTS, "--gap-us", "1000"),
    _requests("req-parts-first@1ms", *_PARTS, "--gap-us", "1000", "--first"),
    Program("resnet-graph-cold", "latency", "tenants",
            ("resnet-graph", "--gap-ms", "8.550", "--cold")),
    *(_model(kind, load) for kind in SOLO_MS for load in LOADS),
    _requests("req@open"),
    _requests("req-graph@open", "--graph", "10"),
    *(_open_loop(kind) for kind in SOLO_MS),
    _hog("hog", "long"),
    _hog("copy", "copy"),
    _hog("dma", "dma", checked=False),
    _hog("blocks100", "blocks", "--block-us", "100"),
    _hog("blocks", "blocks", "--cycle", checked=False),
    _hog("context", "context", checked=False),
    _training("gemm"),
    _training("resnet-train"),
    # Its attention adds in whatever order: two runs alone differ.
    *(Program(kind, "batch", "tenants", (kind,)) for kind in
      ("bert-train", "jax-train", "pointnet-train", "gpt2-train", "pegasus-train", "whisper-train")),
]
PROGRAMS = {program.spec: program for program in _ALL}
