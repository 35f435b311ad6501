"""Trials of the live system that say pass or fail, on a GPU or on the emulated one.

race   several first `cotenant run` at the same moment: all under control, one daemon
churn  programs that set channels up all the time while others are frozen and take turns
users  two users at the same time, under one daemon of root
"""
import json
import os
import shutil
import subprocess
import tempfile
import time

from . import process

FREEZE_LIMIT_S = 10


class Report:
    """Lines as they come, for a reader and for a file."""

    def __init__(self, path):
        self.file, self.begun, self.n_failed = open(path, "w"), time.monotonic(), 0

    def line(self, kind, text):
        line = f"{time.monotonic() - self.begun:7.1f} s {kind:4} {text}"
        print(line, flush=True)
        print(line, file=self.file, flush=True)

    def check(self, good, text):
        self.n_failed += not good
        self.line("PASS" if good else "FAIL", text)
        return good

    def info(self, text):
        self.line("INFO", text)


class Bench:
    """A runtime folder and what was started in it. Everything ends with it."""

    def __init__(self, setup, report, mark):
        self.setup, self.report, self.mark = setup, report, mark
        self.folder = tempfile.mkdtemp(prefix="cl-")
        os.chmod(self.folder, 0o755)
        self.env = {**process.clean_environment(mark), **setup.variables(self.folder),
                    "COTENANT_RUNTIME_DIR": os.path.join(self.folder, "run")}
        self.children, self.daemon = {}, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        process.end([c for c, _ in self.children.values()])
        if self.daemon:
            process.end([self.daemon])
        left = process.sweep(self.mark)
        if left:
            self.report.info(f"{left} processes had to be ended")
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start_daemon(self, text):
        config = self.path("cotenantd.conf")
        with open(config, "w") as f:
            f.write("schema: cotenantd/1\n" + text)
        self.daemon = process.spawn([self.setup.program("cotenantd"), "--config", config],
                                    self.env, self.path("daemon.log"))
        return process.wait_for(lambda: self.ps() is not None, 20, 0.05)

    def cotenant(self, *arguments, **more):
        return subprocess.run([self.setup.program("cotenant"), *arguments], env=self.env,
                              text=True, capture_output=True, timeout=60, check=False, **more)

    def ps(self):
        done = self.cotenant("ps", "--json")
        try:
            return json.loads(done.stdout) if done.returncode == 0 else None
        except ValueError:
            return None

    def names(self):
        return {t["name"] for t in (self.ps() or {}).get("tenants", [])}

    def run(self, name, options, argv, uid=None, gate=None):
        """`gate`: a pipe's end at which it waits for the other one to be closed."""
        prefix = [] if uid is None else ["setpriv", "--reuid", str(uid), "--regid", str(uid),
                                         "--clear-groups"]
        if gate is not None:
            prefix = ["sh", "-c", 'read _; exec "$@"', "gate", *prefix]
        full = [*prefix, self.setup.program("cotenant"), "run", "--name", name, *options, "--",
                self.setup.prog(argv[0]), *map(str, argv[1:])]
        log = self.path(name + ".log")
        more = {} if gate is None else {"stdin": gate}
        child = process.spawn(full, self.env, log, **more)
        self.children[name] = child, log
        return child

    def text(self, name):
        return process.tail(self.children[name][1], 2000)

    def wait(self, name, timeout_s):
        """Its status; None when it did not end."""
        child = self.children[name][0]
        process.wait_for(lambda: child.poll() is not None, timeout_s, 0.02)
        return child.poll()

    def ends_right(self, where, name, timeout_s):
        status = self.wait(name, timeout_s)
        said = self.text(name).replace("\n", " | ")
        if status is None:
            return self.report.check(False, f"{where}: {name} has not ended after {timeout_s:.0f} s")
        good = status == 0 and ("wrong" not in said or "wrong 0" in said)
        return self.report.check(good, f"{where}: {name} (status {status}): {said[-300:]}")


# ---- race ----

def daemons_of(bench):
    """Processes of ours that are called cotenantd."""
    found = []
    for pid in process.marked(bench.mark):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == "cotenantd":
                    found.append(pid)
        except OSError:
            continue
    return found


def race_round(setup, report, mark, number, n_programs):
    with Bench(setup, report, mark) as bench:
        names = [f"p{i}" for i in range(n_programs)]
        gate, opener = os.pipe()
        for i, name in enumerate(names):
            bench.run(name, ["--class", "latency" if i == 0 else "batch"],
                      ["request" if i == 0 else "batch", "--seconds", setup.seconds(2)], gate=gate)
        os.close(gate)
        time.sleep(0.05)
        os.close(opener)
        known = set()

        def all_known():
            known.update(bench.names())
            return known >= set(names)
        process.wait_for(all_known, 3, 0.05)
        n_daemons = len(daemons_of(bench))
        ended = [bench.wait(name, 60) for name in names]
        said = " | ".join(bench.text(n) for n in names)
        without = n_programs - len(known & set(names))
        good = known >= set(names) and n_daemons == 1 and ended == [0] * n_programs and \
            "without control" not in said and "ERROR" not in said and "wrong 0" in said
        if not good:
            report.info(f"race {number}: ps knew {sorted(known)}, {n_daemons} daemons, "
                        f"statuses {ended}: {said[-600:]}")
        return good, without


def race(setup, report, mark, options):
    rounds = [race_round(setup, report, mark, i, options.programs) for i in range(options.rounds)]
    report.check(all(good for good, _ in rounds),
                 f"race: {sum(g for g, _ in rounds)} of {len(rounds)} rounds of {options.programs} "
                 f"programs right; {sum(n for _, n in rounds)} programs ran without control")


# ---- churn ----

def counters(bench, where):
    done = bench.cotenant("stats", "--json")
    try:
        stats = json.loads(done.stdout)
    except ValueError:
        return bench.report.info(f"{where}: no stats: {done.stderr.strip()[:200]}")
    for entry in stats.get("tenants", []) + stats.get("pools", []):
        seen = {k: v for k, v in entry.items() if isinstance(v, (int, float))
                and any(w in k for w in ("freeze", "thaw", "fail", "laps", "doubt"))}
        bench.report.info(f"{where}: {entry.get('name')}: {json.dumps(seen)}")


def freeze_by_hand(bench, where, names, seconds):
    """Freezes and thaws one after the other; a freeze may be refused with a sentence."""
    end, n, refused, slowest = time.monotonic() + seconds, 0, 0, 0.0
    while time.monotonic() < end:
        for name in names:
            begun = time.monotonic()
            done = bench.cotenant("freeze", name)
            slowest = max(slowest, time.monotonic() - begun)
            refused += done.returncode != 0
            time.sleep(0.05)
            bench.cotenant("thaw", name)
            n += 1
    bench.report.check(n > refused and slowest < FREEZE_LIMIT_S,
                       f"{where}: {n} freezes by hand, {refused} not possible, the slowest took "
                       f"{slowest:.2f} s with the command's start")


def churn_part(setup, report, mark, where, policy, programs, frozen):
    """`programs`: name -> (options, argv). All must end by themselves, with right results."""
    seconds = setup.seconds(9)
    with Bench(setup, report, mark) as bench:
        if not report.check(bench.start_daemon(f"policy: {policy}\n"), f"{where}: the daemon serves"):
            return
        for name, (options, argv) in programs.items():
            bench.run(name, ["--required", *options], [*argv, "--seconds", seconds])
        process.wait_for(lambda: bench.names() >= set(programs), 20, 0.05)
        if frozen:
            time.sleep(1)
            freeze_by_hand(bench, where, frozen, seconds - 3)
        else:
            time.sleep(seconds - 1)
        counters(bench, where)
        for name in programs:
            bench.ends_right(where, name, 30)


def churn(setup, report, mark, _options):
    contexts = ["--solo"], ["channels", "contexts"]
    streams = ["--solo"], ["channels", "streams"]
    paused = ["--solo"], ["channels", "contexts", "--work-ms", 1000]
    batch = ["--solo"], ["batch"]
    pooled = [], ["channels", "streams"]
    churn_part(setup, report, mark, "churn-rotate", "rotate",
               {"contexts": contexts, "paused": paused, "b1": batch}, [])
    churn_part(setup, report, mark, "churn-freeze", "rotate",
               {"streams": streams, "contexts": contexts, "paused": paused},
               ["streams", "contexts", "paused"])
    churn_part(setup, report, mark, "churn-pools", "pools",
               {"svc": (["--class", "latency"], ["request"]),
                "contexts": ([], ["channels", "contexts"]), "streams": pooled}, [])
    churn_part(setup, report, mark, "churn-hold", "pools",
               {"paused": ([], ["channels", "contexts", "--work-ms", 1000]), "streams": pooled,
                "b1": ([], ["batch"])}, ["pool:batch"])


# ---- users ----

def users(setup, report, mark, _options):
    """Root's and two others' programs under one daemon: all are right, none waits for ever."""
    if os.geteuid() != 0:
        return report.line("SKIP", "users: only root can play several users")
    seconds = setup.seconds(6)
    with Bench(setup, report, mark) as bench:
        os.mkdir(bench.path("run"), 0o755)
        serves = bench.start_daemon("policy: pools\nallow: {other_users: true, latency: [1001]}\n")
        if not report.check(serves, f"users: the daemon serves: {process.tail(bench.path('daemon.log'))}"):
            return
        setup.open_to_users()
        plan = {"root-batch": (None, [], ["batch"]), "first-batch": (1001, [], ["batch"]),
                "second-batch": (1002, [], ["batch"]),
                "first-latency": (1001, ["--class", "latency"], ["request"])}
        for name, (uid, options, argv) in plan.items():
            child = bench.run(name, ["--required", *options], [*argv, "--seconds", seconds],
                              uid=uid)
            process.wait_for(lambda want=name, c=child: want in bench.names() or
                             c.poll() is not None, 20, 0.05)
        time.sleep(2)
        for t in (bench.ps() or {}).get("tenants", []):
            report.info(f"users: {t['name']}: {json.dumps(t)[:300]}")
        for name in plan:
            bench.ends_right("users", name, seconds + 40)
        for line in process.tail(bench.path("daemon.log"), 3000).splitlines():
            report.info(f"users: daemon: {line}")


TRIALS = {"race": race, "churn": churn, "users": users}
