#!/usr/bin/env python3
"""How long `cotenant plan` takes with jobs that are all different, half of them services: in seconds of the clock and
of the processors. On a busy machine the latter is what counts."""
import argparse
import os
import random
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = "schema: cotenant.jobs/1\ngpu: h200\nseed: 1\njobs:\n"


def kernel(blocks, us, regs):
    return ("program: [{kernel: {name: k, blocks: %d, block_us: %d, blocks_per_sm: 1, regs_per_block: %d}}, sync]"
            % (blocks, us, regs))


def service(draw, i):
    us, waves, per_s = draw.choice([300, 800, 1500, 3000]), draw.choice([1, 2]), draw.choice([5, 20, 60, 100])
    while us * waves * per_s > 500000:
        per_s /= 2
    return "  - {name: serve%d, class: latency, p99: %dus, memory: %dGB, arrivals: {per_s: %g}, %s}\n" % (
        i, us * waves * draw.choice([3, 5, 10]), draw.choice([5, 10, 20, 40]), per_s, kernel(132 * waves, us, 16384))


def training(draw, i):
    us, blocks = draw.choice([200, 500, 1000, 2000]), draw.choice([64, 132, 528, 1320])
    return "  - {name: train%d, rate: %d%%, memory: %dGB, %s}\n" % (
        i, draw.choice([10, 20, 40, 60]), draw.choice([5, 10, 20, 40]), kernel(blocks, us, 65536))


def jobs(seed, n):
    draw = random.Random(seed)
    return HEAD + "".join(training(draw, i) if i % 2 else service(draw, i) for i in range(n))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: all processors")
    parser.add_argument("--cotenant", default=os.environ.get("COTENANT", os.path.join(HERE, "../build/bin/cotenant")))
    parser.add_argument("--print", action="store_true", help="only print the jobs")
    a = parser.parse_args()
    text = jobs(a.seed, a.jobs)
    if a.print:
        sys.stdout.write(text)
        return 0
    begin = time.monotonic()
    done = subprocess.run([a.cotenant, "plan", "-", "--threads", str(a.threads)], input=text, text=True,
                          stdout=subprocess.PIPE, check=False)
    seconds = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        return 1
    print(done.stdout.splitlines()[0])
    print("%d jobs, seed %d, %d threads: %.1f s, %.1f s of processors; load of the machine %.1f" % (
        a.jobs, a.seed, a.threads, seconds, used.ru_utime + used.ru_stime, os.getloadavg()[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
