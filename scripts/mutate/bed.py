"""A copy of the sources, its build, and its tests: where changes are tried. The working tree is never touched."""

import fcntl
import glob
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

import plan

# A change may spin, wait, eat memory or write without an end.
CPU_S, WAIT_S, MEMORY_BYTES, FILE_BYTES = 3, 10, 2 << 30, 1 << 30
TIMES_NORMAL = 6


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part if isinstance(part, bytes) else str(part).encode())
        h.update(b"\0")
    return h.hexdigest()[:20]


class Test:
    """One CTest: its name, command, and the built files that it depends on."""

    def __init__(self, listed, build):
        props = {p["name"]: p["value"] for p in listed["properties"]}
        self.name, self.command = listed["name"], listed.get("command", [])
        self.cwd = props.get("WORKING_DIRECTORY", str(build))
        self.skipped = int(props.get("SKIP_RETURN_CODE", -1))
        self.env = dict(os.environ, **dict(e.split("=", 1) for e in props.get("ENVIRONMENT", [])))
        named = list(self.command)
        if not set(props.get("LABELS", [])) & {"unit", "policy", "sim", "ptx", "fuzz"}:
            named += [e.split("=", 1)[1] for e in props.get("ENVIRONMENT", [])]
        out = str(build.parent) + "/"
        self.built = sorted({os.path.realpath(f) for f in named if f.startswith(out)})

    def files(self):
        """Where the programs and libraries of a whole folder count, all of them."""
        for path in self.built:
            if os.path.isdir(path):
                yield from sorted(f for f in glob.glob(path + "/*") if os.path.isfile(f))
            else:
                yield path
                if path.endswith("/bin/cotenant"):
                    yield from sorted(glob.glob(os.path.dirname(path) + "/*"))

    def state(self):
        files = [f for f in self.files() if os.path.isfile(f)]
        return digest(*(pathlib.Path(f).read_bytes() for f in files))


class Bed:
    def __init__(self, root, say):
        self.root, self.say = root, say
        self.home = root / "build/mutate"
        self.source, self.build = self.home / "source", self.home / "source/build/release"
        self.home.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.home / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"mutate: another run uses {self.home}; wait for its end") from None
        self.wrap = self.namespaces()

    def namespaces(self):
        """The prefix of a test's command: there it can signal no other process and leaves nothing behind."""
        wrap = ["unshare", "-mpif", "--mount-proc", "--kill-child"]
        if not shutil.which("unshare") or subprocess.run([*wrap, "true"], capture_output=True).returncode:
            self.say("mutate: no namespaces here (run as root for them): tests run with a time limit only")
            return []
        own = [d for d in ("/dev/shm", os.environ.get("TMPDIR", "/" + "tmp")) if not self.home.is_relative_to(d)]
        mounts = " && ".join(["true", *(f"mount -t tmpfs tmpfs {d}" for d in own)])
        return [*wrap, "sh", "-c", mounts + ' && exec "$@"', "sh"]

    # ---- sources and objects ----

    def prepare(self):
        """Copies what differs, builds, and remembers what everything looked like."""
        names = subprocess.run([self.root / "scripts/list-files"], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        self.contents = {n: (self.root / n).read_bytes() for n in names}
        self.tree = digest(*(x for n in names if not re.search(r"\.md$|^scripts/|\.accepted$", n)
                             for x in (n, self.contents[n])))
        for old in self.source.rglob("*"):
            if old.is_file() and self.build.parent not in old.parents and \
                    str(old.relative_to(self.source)) not in self.contents:
                old.unlink()
        for name, content in self.contents.items():
            to = self.source / name
            if not to.is_file() or to.read_bytes() != content:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(content)
                shutil.copymode(self.root / name, to)
        self.say("mutate: building the unchanged tree")
        self.must("cmake", "--preset", "release", "-DCOT_WERROR=OFF", cwd=self.source)
        self.must("ninja", "-C", str(self.build))
        self.objects = self.find_objects()
        listed = json.loads(self.must("ctest", "--show-only=json-v1", cwd=self.build))["tests"]
        self.tests = {t["name"]: Test(t, self.build) for t in listed if t.get("command")}
        self.before = {name: t.state() for name, t in self.tests.items()}
        self.load_normal()

    def must(self, *command, cwd=None):
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"mutate: {' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def find_objects(self):
        """Source file -> [(object, its digest)]; a library to be loaded has objects of its own."""
        found = {}
        for c in json.loads((self.build / "compile_commands.json").read_text()):
            name = os.path.relpath(c["file"], self.source)
            obj = re.search(r" -o (\S+)", c["command"]).group(1)
            found.setdefault(name, []).append((obj, digest((self.build / obj).read_bytes())))
        return found

    def write(self, name, text):
        (self.source / name).write_text(text)

    def restore(self, name):
        (self.source / name).write_bytes(self.contents[name])

    def ninja(self, targets):
        done = subprocess.run(["ninja", "-C", str(self.build), *targets], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        return done.returncode == 0

    def compiles(self, name):
        return self.ninja([obj for obj, _ in self.objects.get(name, [])])

    def same_objects(self, name):
        return all(digest((self.build / obj).read_bytes()) == old for obj, old in self.objects.get(name, []))

    # ---- tests ----

    def load_normal(self):
        """How long a test takes on the unchanged tree, from earlier runs."""
        self.normal_file = self.home / "normal.json"
        self.normal = {}
        if self.normal_file.exists():
            known = json.loads(self.normal_file.read_text())
            self.normal = {n: k for n, k in known.items() if self.before.get(n) == k["state"]}

    def plan_for(self, folder, quick):
        """[[(test, attempts)]] for a folder, with those left out that fail on the unchanged tree."""
        stages, used = [], set()
        for regex, attempts in plan.stages(folder, quick):
            names = [n for n in self.tests if re.match(regex, n) and n not in used]
            used.update(names)
            self.measure(names)
            good = sorted((n for n in names if self.normal[n]["ok"]), key=lambda n: self.normal[n]["wall"])
            stages.append([(self.tests[n], attempts) for n in good])
        return stages

    def measure(self, names):
        new = [n for n in names if n not in self.normal]
        if new:
            self.say(f"mutate: {len(new)} tests on the unchanged tree")
        for name in new:
            begin, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            ok = any(self.passes(self.tests[name], 300, 300) for _ in range(3))
            wall, cpu = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
            self.normal[name] = {"ok": ok, "wall": wall, "state": self.before[name],
                                 "cpu": cpu.ru_utime + cpu.ru_stime - used.ru_utime - used.ru_stime}
            if not ok:
                self.say(f"mutate: {name} fails on the unchanged tree and is left out")
            self.normal_file.write_text(json.dumps(self.normal))

    def passes(self, test, wall_s, cpu_s):
        """None = it took too long."""
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        process = subprocess.Popen([*self.wrap, *test.command], cwd=test.cwd, env=test.env, preexec_fn=limits,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(wall_s) in (0, test.skipped)
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def fails(self, test, attempts):
        normal = self.normal[test.name]
        limits = WAIT_S + TIMES_NORMAL * normal["wall"], CPU_S + TIMES_NORMAL * normal["cpu"]
        for _ in range(attempts):
            passed = self.passes(test, *limits)
            if passed or passed is None:
                break
        return not passed

    def killer(self, stages, unit):
        """The first test that fails; those named after the unit come first. None = none does."""
        for stage in stages:
            first = [s for s in stage if s[0].name.endswith("_" + unit)]
            for batch in (first, [s for s in stage if s not in first]):
                self.link(batch)
                for test, attempts in batch:
                    if test.state() != self.before[test.name] and self.fails(test, attempts):
                        return test.name
        return None

    def link(self, batch):
        """Builds what the tests run: their own program, or, where they run those of others, all."""
        own = {os.path.relpath(t.command[0], self.build) for t, _ in batch
               if len(t.built) and t.built[0] == os.path.realpath(t.command[0]) and len(t.built) == 1}
        if batch:
            self.ninja(sorted(own) if len(own) == len(batch) else [])
