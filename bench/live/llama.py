#!/usr/bin/env python3
"""llama.cpp's server beside a training: alone, by time slicing, in MPS, and under cotenant.

The model has random weights (livebench/gguf.py); llama.cpp is built elsewhere. A client asks one question after the other,
with pauses, and notes when each token of an answer comes. At temperature 0 an answer must be what it was alone. Written after
every way: OUT/llama.json, OUT/table.txt, and OUT/log.txt if something failed; a way that is there already is not measured
again. Status 1: a way failed. An answer that differs is counted, and no failure.
"""
import argparse
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from livebench import chains, gguf, process, ways
from livebench.process import Failed

READY_S, END_S = 60, 15
PROMPTS = 6
# Of each way: the policy (None: no daemon), options of the server, options of the training (None: it does not run).
WAYS = {
    "alone": (None, (), None),
    "training": (None, None, ()),
    "timeslice": (None, (), ()),
    "mps": ("mps", (), ()),
    "pools": ("pools", ("--measure",), ()),
    "slo": ("slo", ("--slowdown", "1.5x"), ()),
    "parts": ("parts", ("--measure", "--sms", "50%"), ("--sms", "50%")),
    "alone-pools": ("pools", ("--measure",), None),
    "alone-parts": ("parts", ("--measure", "--sms", "50%"), None),
    "alone-quota": ("smguard", ("--measure", "--quota", "50%"), None),
}
SETTLE_S = {"slo": 20.0}


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--llama", required=True, metavar="DIR", help="has llama-server and its libraries, in any folders")
    p.add_argument("--out", default="build/llama", metavar="DIR")
    p.add_argument("--build", default=os.path.join(chains.ROOT, "build"), metavar="DIR", help="has bin and lib")
    p.add_argument("--model", metavar="FILE", help="a GGUF file, made with random weights if it is not there; default: a "
                   "temporary one")
    p.add_argument("--size", default="1b", choices=gguf.SIZES, help="of a model that is made")
    p.add_argument("--only", type=chains.some_of(WAYS, "way"), default=",".join(WAYS), metavar="WAY[,..]")
    p.add_argument("--seconds", type=float, default=6, help="that count of each way")
    p.add_argument("--tokens", type=int, default=64, help="of an answer")
    p.add_argument("--prompt", type=int, default=32, metavar="TOKENS", help="of a question")
    p.add_argument("--pause", type=float, default=0.3, metavar="SECONDS", help="the mean time between two answers")
    p.add_argument("--budget", type=float, default=120, metavar="SECONDS", help="no further way is begun after that")
    p.add_argument("--server-options", default="-ngl 99", metavar="TEXT", help="of llama-server")
    p.add_argument("--training", metavar="COMMAND", help="default: examples/pytorch/train.py; says 'training', and when it "
                   "ends 'steps N per_s X'")
    p.add_argument("--emulate", action="store_true", help="on the emulated GPU")
    return p.parse_args()


def folder_of(root, name):
    found = sorted(glob.glob(os.path.join(root, "**", name), recursive=True))
    if not found:
        raise Failed(f"there is no {name} in {root}")
    return os.path.dirname(os.path.abspath(found[0]))


def library_path(llama):
    """Where llama.cpp's libraries are, and cuBLAS if it is with CUDA's toolkit or Python's packages."""
    out = {folder_of(llama, name) for name in ("libggml-cuda.so", "libllama.so", "libggml-base.so")}
    places = ["/usr/local/cuda/lib64", *glob.glob(os.path.join(sys.prefix, "lib/python3*/site-packages/nvidia/**/lib"),
                                                  recursive=True)]
    out.update(place for place in places if glob.glob(os.path.join(place, "libcublas*.so.*")) or
               glob.glob(os.path.join(place, "libcudart.so.*")))
    return ":".join(sorted(out))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, a, port):
        self.port, self.a = port, a

    def _ask(self, body, on_line, timeout):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            link.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
            answer = link.getresponse()
            if answer.status != 200:
                raise Failed(f"the server says {answer.status}: {answer.read(300)!r}")
            for line in answer:
                if line.startswith(b"data: {"):
                    on_line(json.loads(line[6:]))
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Failed(f"the server: {e!r}") from None
        finally:
            link.close()

    def is_ready(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            link.request("GET", "/health")
            return link.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()

    def answer(self, k):
        """To question k: its tokens, when the question was put, and when each token came."""
        rng = random.Random(k)
        vocabulary = gguf.SIZES["tiny"][-1]
        prompt = [1] + [rng.randrange(gguf.N_SPECIAL, vocabulary) for _ in range(self.a.prompt - 1)]
        tokens, came, begun = [], [], time.monotonic()

        def note(line):
            if line.get("tokens") or line.get("content"):
                tokens.append(line.get("tokens") or line["content"])
                came.append(time.monotonic())
        self._ask({"prompt": prompt, "n_predict": self.a.tokens, "temperature": 0, "seed": 1, "stream": True,
                   "ignore_eos": True, "cache_prompt": False, "return_tokens": True}, note, READY_S)
        return tokens, begun, came


def percentile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else None


def window(a, server, reference):
    """Answers for so many seconds; what they say goes into the reference where it has none."""
    rng, gaps, first, answers, differ = random.Random(7), [], [], 0, []
    begin, busy = time.monotonic(), 0.0
    while time.monotonic() - begin < a.seconds or answers < 2:
        tokens, begun, came = server.answer(answers % PROMPTS)
        if not came:
            raise Failed("an answer without a token")
        same = reference.setdefault(str(answers % PROMPTS), tokens)
        if tokens != same:
            differ.append(next((i for i, (x, y) in enumerate(zip(tokens, same)) if x != y), min(len(tokens), len(same))))
        first.append(came[0] - begun)
        gaps += [y - x for x, y in zip(came, came[1:])]
        busy += came[-1] - begun
        answers += 1
        time.sleep(rng.expovariate(1 / a.pause) if a.pause else 0)
    return {"answers": answers, "differ": len(differ), "differ_at_token": differ[:20], "tokens": len(gaps) + answers,
            "tokens_per_s": round((len(gaps) + answers) / busy, 2), "load": round(busy / (time.monotonic() - begin), 3),
            **{f"{name}_p{q}_ms": round(1e3 * percentile(values, q / 100), 3)
               for name, values in (("token", gaps), ("first", first)) for q in (50, 99)},
            "token_max_ms": round(1e3 * max(gaps, default=0), 3), "gaps_us": [round(1e6 * g) for g in gaps]}


class Bench:
    def __init__(self, a, machine):
        self.a, self.machine = a, machine
        self.path = os.path.join(a.out, "llama.json")
        self.options = {k: getattr(a, k) for k in ("seconds", "tokens", "prompt", "pause", "size", "server_options",
                                                   "emulate")}
        self.result = {"schema": "cotenant.llama/1", **machine.facts(), "options": self.options,
                       "ways": {}, "answers": {}}
        try:
            with open(self.path, encoding="utf-8") as f:
                old = json.load(f)
            if old["options"] == self.options:
                self.result = old
        except (OSError, ValueError, KeyError):
            pass

    def inspect(self, library):
        done = subprocess.run([*self.machine.tools.cotenant, "inspect", "--json", library], env=self.machine.env,
                              capture_output=True, text=True, timeout=60, check=False)
        try:
            said = json.loads(done.stdout)
        except ValueError:
            return {"failed": (done.stderr or done.stdout)[-500:]}
        said["kernels_in_all"] = len(said.get("kernels", []))
        said["kernels"] = said.get("kernels", [])[:5]
        return said

    def look(self, way):
        """What cotenant says while both run."""
        out = {"explain": way.explain("llm")}
        for what in ("ps", "stats"):
            done = way.ask(what, "--json")
            out[what] = json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr[-500:]
            out[what + "_text"] = way.ask(what, "--wide").stdout
        return out

    def _way(self, name, folder):
        policy = WAYS[name][0]
        if policy is None:
            return ways.Way(self.machine.tools, folder, self.machine.env)
        if policy == "mps":
            return ways.Mps(self.machine.tools, folder, self.machine.env)
        return chains.Daemon(self.machine, policy)

    def _begin(self, way, name, program, argv, options):
        if isinstance(way, ways.Cotenant):
            role = "latency" if program == "llm" else "batch"
            argv = [*self.machine.tools.cotenant, "run", "--required", "--class", role, "--name", program, *options, "--",
                    *argv]
        log = os.path.join(self.machine.folder, f"{name}.{program}.log")
        # Under control a program sees one GPU; without, llama.cpp would lay its model over all.
        env = way.env if isinstance(way, ways.Cotenant) else {**way.env, "CUDA_VISIBLE_DEVICES": "0"}
        return process.spawn(argv, env, log), log

    def _await(self, child, log, is_ready, what):
        if not process.wait_for(lambda: child.poll() is not None or is_ready(), READY_S, 0.02):
            raise Failed(f"{what} is not ready after {READY_S} s: {process.tail(log, 800)}")
        if child.poll() is not None:
            raise Failed(f"{what} ended with status {child.returncode}: {process.tail(log, 800)}")

    def measure(self, name):
        folder = os.path.join(self.machine.folder, name)
        os.makedirs(folder)
        way, children = self._way(name, folder), []
        began = time.monotonic()
        way.start()
        try:
            return self._measure(way, name, children, began)
        except Failed as e:
            if isinstance(way, ways.Cotenant):
                raise Failed(f"{e}\n{json.dumps(self.look(way))}") from None
            raise
        finally:
            process.end(children, END_S)
            way.stop()

    def _measure(self, way, name, children, began):
        _, server_options, training_options = WAYS[name]
        out = {}
        if training_options is not None:
            train, train_log = self._begin(way, name, "train", self.a.training_argv, training_options)
            children.append(train)
        if server_options is not None:
            server = Server(self.a, free_port())
            llm, llm_log = self._begin(way, name, "llm", [
                os.path.join(self.a.server_folder, "llama-server"), "-m", self.a.model, "--port", str(server.port),
                "-np", "1", "-c", "1024", "--no-webui", *self.a.server_options.split()], server_options)
            children.append(llm)
            self._await(llm, llm_log, server.is_ready, "llama-server")
        if training_options is not None:
            self._await(train, train_log, lambda: "training" in open(
                train_log, encoding="utf-8").read(), "the training")
        if server_options is not None:
            server.answer(0)
            end = time.monotonic() + SETTLE_S.get(name, 0)
            while time.monotonic() < end:
                server.answer(0)
                time.sleep(self.a.pause)
        out["ready_s"] = round(time.monotonic() - began, 2)
        if training_options is not None:
            train.send_signal(signal.SIGUSR1)
        if server_options is None:
            time.sleep(self.a.seconds)
        else:
            out["llm"] = window(self.a, server, self.result["answers"])
        if isinstance(way, ways.Cotenant):
            out["cotenant"] = self.look(way)
        process.end(children, END_S)
        if training_options is not None:
            out["training"] = self._training(train, train_log)
        if server_options is not None:
            with open(llm_log, encoding="utf-8", errors="replace") as f:
                out["llm_said"] = [line for line in f.read().splitlines()
                                   if re.search(r"cotenant|CUDA|error|graph", line, re.I)][:40]
        return out

    def _training(self, child, log):
        with open(log, encoding="utf-8", errors="replace") as f:
            found = re.search(r"steps (\d+) per_s ([\d.]+)", f.read())
        if not found:
            raise Failed(f"the training ended with status {child.returncode}: {process.tail(log, 500)}")
        return {"steps": int(found[1]), "per_s": float(found[2])}

    def table(self):
        r = self.result
        text = f"# {r['date']}, {r['gpu']}, {r['cotenant']}: bench/live/llama.py, a model of {self.a.size} with random weights\n"
        text += f"{'way':<12} {'tokens/s':>9} {'token p50':>10} {'p99':>9} {'max':>9} {'first p50':>10} {'p99':>9}" \
                f" {'answers':>8} {'differ':>7} {'training':>9}\n"
        alone = r["ways"].get("training", {}).get("training", {}).get("per_s")
        for name, way in r["ways"].items():
            if "failed" in way:
                text += f"{name:<12} failed: {' '.join(way['failed'].split())[:160]}\n"
                continue
            llm, rate = way.get("llm"), way.get("training", {}).get("per_s")
            cells = [f"{llm[k]:>{n}}" for k, n in (
                ("tokens_per_s", 9), ("token_p50_ms", 10), ("token_p99_ms", 9), ("token_max_ms", 9), ("first_p50_ms", 10),
                ("first_p99_ms", 9), ("answers", 8), ("differ", 7))] if llm else [" " * 78]
            share = "-" if not rate or not alone else f"{rate / alone:.2f}"
            text += f"{name:<12} {' '.join(cells)} {share:>9}\n"
        return text + "tokens/s: while it answers; times in ms; training: its rate, of that alone\n"

    def save(self):
        chains.write(self.path, self.result)
        with open(os.path.join(self.a.out, "table.txt"), "w", encoding="utf-8") as f:
            f.write(self.table())

    def run(self, library):
        begin = time.monotonic()
        self.result.setdefault("inspect", self.inspect(library))
        for name in self.a.only:
            if "failed" not in self.result["ways"].get(name, {"failed": 1}):
                continue
            if time.monotonic() - begin > self.a.budget:
                print(f"llama: no time is left for {name}", file=sys.stderr)
                break
            try:
                self.result["ways"][name] = self.measure(name)
            except (Failed, subprocess.TimeoutExpired) as e:
                self.result["ways"][name] = {"failed": str(e)}
                process.sweep(self.machine.mark)
            self.save()
            print(self.table().splitlines()[-2], flush=True)
        return any("failed" in way for way in self.result["ways"].values())


def prepare(a, machine):
    a.server_folder = folder_of(a.llama, "llama-server")
    a.training_argv = a.training.split() if a.training else [
        shutil.which("python3") or sys.executable, os.path.join(chains.ROOT, "examples", "pytorch", "train.py")]
    a.model = a.model or os.path.join(machine.folder, "model.gguf")
    if not os.path.exists(a.model):
        print(f"{gguf.write(a.model, a.size)} random weights in {a.model}", flush=True)
    machine.env["LD_LIBRARY_PATH"] = ":".join(filter(None, (machine.env.get("LD_LIBRARY_PATH"), library_path(a.llama))))


def main():
    a = parse()
    os.makedirs(a.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="cot-llama-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    machine, status = chains.Machine(folder, a.build, a.emulate), 1
    try:
        prepare(a, machine)
        bench = Bench(a, machine)
        status = int(bench.run(os.path.join(folder_of(a.llama, "libggml-cuda.so"), "libggml-cuda.so")))
        print(bench.table())
    except (Failed, KeyboardInterrupt) as e:
        print(f"llama: {e or 'interrupted'}", file=sys.stderr)
    finally:
        process.sweep(machine.mark)
        if status:
            with open(os.path.join(a.out, "log.txt"), "wb") as out:
                for path in sorted(glob.glob(os.path.join(folder, "**", "*.log"), recursive=True)):
                    out.write(f"== {os.path.relpath(path, folder)}\n".encode() +
                              process.tail(path, 20000).encode() + b"\n")
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
