#!/usr/bin/env python3
"""Whether a running program can be checkpointed and restored by the CUDA driver: outside MPS, as a client of an MPS
server, from one server to another, and in a pool of cotenant. Writes checkpoint.txt; the status is 0 if all went
well. See checkpoint.c.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from livebench import machine, process
from livebench.session import LIVE, ROOT, write
from livebench.process import Failed
from livebench.programs import PROGRAMS
from livebench.ways import Cotenant, Mps, Tools, Way

BATCH = PROGRAMS["hog"]


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--mib", type=int, default=1024, help="GPU memory of the program")
    p.add_argument("--out", default="build/checkpoint", metavar="DIR")
    p.add_argument("--bin", metavar="DIR", help="folder of cotenant and cotenantd; default: build/bin")
    p.add_argument("--program", default=os.path.join(LIVE, "bin", "checkpoint"), metavar="FILE")
    p.add_argument("--commit", help="to note in the result; default: git's")
    options = p.parse_args(argv)
    options.command = " ".join(shlex.quote(a) for a in ["bench/live/checkpoint.py", *argv])
    options.torch, options.python = False, sys.executable  # for machine.facts
    return options


class Trial:
    def __init__(self, options):
        self.options, self.mark = options, f"{os.getpid()}-{time.time_ns():x}"
        self.tools = Tools(LIVE, ROOT, cotenant=options.bin and os.path.abspath(options.bin))
        self.folder = tempfile.mkdtemp(prefix="cc-")
        self.lines, self.failed = [], 0

    def say(self, text):
        print(text, flush=True)
        self.lines.append(text)

    def start(self, kind, name):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        way = kind(self.tools, folder, self.tools.environment(self.mark))
        way.start()
        return way

    def run(self, title, way, *servers):
        """One checkpoint of a program in that way; with two servers, from the first to the second."""
        self.say(f"\n{title}:")
        more = [servers[1].pipe] if servers else []
        argv, env = way.launch("checkpoint", BATCH, [self.options.program, str(self.options.mib), *more])
        with subprocess.Popen(argv, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as child:
            for line in child.stdout:
                self.say(line.rstrip())
                if servers and line.startswith("its memory"):
                    for name, server in zip(("first", "second"), servers):
                        self.say(f"clients of the {name} server: {server.clients() or 'none'}")
                    child.stdin.close()
        self.failed += child.returncode != 0

    def all(self):
        self.run("outside MPS", self.start(Way, "plain"))
        servers = []
        try:
            servers.append(self.start(Mps, "one"))
            self.run("as a client of an MPS server", servers[0])
            servers.append(self.start(Mps, "two"))
            self.run("from one MPS server to another", servers[0], *servers)
            servers.append(self.start(Cotenant, "pool"))
            self.run("in a pool of cotenant", servers[2])
        except Failed as e:
            self.say(str(e))
            self.failed += 1
        finally:
            for way in servers:
                way.stop()


def main(argv):
    options = parse(argv)
    trial = Trial(options)
    facts = machine.facts(trial.tools, options)
    trial.say(", ".join(f"{k} {facts[k]}" for k in ("date", "gpu", "driver", "cuda", "kernel", "cotenant",
                                                    "commit", "command") if facts.get(k)))
    try:
        machine.build(LIVE)
        trial.all()
    finally:
        n = process.sweep(trial.mark)
        shutil.rmtree(trial.folder, ignore_errors=True)
    if n:
        trial.say(f"{n} processes were left and have been ended")
    os.makedirs(options.out, exist_ok=True)
    write(os.path.join(options.out, "checkpoint.txt"), "\n".join(trial.lines) + "\n")
    return 1 if trial.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
