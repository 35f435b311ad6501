"""Children: started with a mark, so that each and all that they start can be found and ended."""
import ctypes
import json
import os
import signal
import subprocess
import time

MARK = "COT_BENCH_MARK"

_libc = ctypes.CDLL(None, use_errno=True)


VISIBLE = "CUDA_VISIBLE_DEVICES"


class Failed(Exception):
    """A cell could not be measured; the text says why."""


def _end_with_parent():
    _libc.prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG


def clean_environment(mark):
    """Our environment, without what would bring a program under control."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("CUDA_MPS_", "COTENANT_", "COT_BENCH_")) and k != "LD_PRELOAD"}
    for keep in ("COTENANT_LIBRARY", "COTENANT_MPS_CONTROL", "COTENANT_GPUS", "COTENANT_EMU_DIR", "COTENANT_EMU_GPUS"):
        if keep in os.environ:
            env[keep] = os.environ[keep]
    if os.environ.get("COT_BENCH_PRELOAD"):  # the emulated driver, for a dry run
        env["LD_PRELOAD"] = os.environ["COT_BENCH_PRELOAD"]
    env.update({MARK: mark, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "4"})
    return env


def choose_gpu(gpu):
    """For this process and all that it starts: programs, daemons, MPS servers. In the order of nvidia-smi."""
    os.environ.update({VISIBLE: gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def spawn(argv, env, log, **more):
    with open(log, "ab") as out:
        return subprocess.Popen(argv, env=env, stdin=more.pop("stdin", subprocess.DEVNULL),
                                stdout=more.pop("stdout", out), stderr=out,
                                start_new_session=True, preexec_fn=_end_with_parent, **more)


def tail(path, n=300):
    try:
        with open(path, "rb") as f:
            return f.read()[-n:].decode(errors="replace").strip()
    except OSError:
        return ""


def wait_for(condition, timeout_s, step_s=0.005):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step_s)
    return bool(condition())


def end(children, timeout_s=10.0):
    """SIGTERM, then SIGKILL to those that do not hear. Returns how many needed it."""
    for child in children:
        if child.poll() is None:
            child.terminate()
    wait_for(lambda: all(c.poll() is not None for c in children), timeout_s)
    stubborn = [c for c in children if c.poll() is None]
    for child in stubborn:
        child.kill()
    for child in stubborn:
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            pass
    return len(stubborn)


def marked(mark):
    """Ids of the living processes that carry the mark, with any parent."""
    needle, found = f"{MARK}={mark}".encode(), []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as f:
                if needle not in f.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/stat", "rb") as f:
                if f.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X"):
                    found.append(int(entry))
        except (OSError, IndexError):
            continue
    return found


def sweep(mark, timeout_s=8.0):
    """Ends whatever of ours is left. Returns how many had to be ended."""
    left = marked(mark)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in marked(mark):
            try:
                os.kill(pid, number)
            except OSError:
                pass
        if wait_for(lambda: not marked(mark), timeout_s if number == signal.SIGTERM else 2, 0.05):
            break
    return len(left)


# ---- tenants ----

class Tenant:
    """A program of a cell. Its files lie in `folder` under its name."""

    def __init__(self, name, program, folder):
        self.name, self.program = name, program
        self.base = os.path.join(folder, name)
        self.child, self.is_paused = None, False

    def path(self, what):
        return f"{self.base}.{what}"

    def start(self, argv, env, go, life_s):
        """In its folder, by names that are the same each time: a policy may know the program again."""
        folder, name = os.path.split(self.base)
        argv = [*argv, "--ready", f"{name}.ready", "--go", go and os.path.relpath(go, folder),
                "--out", f"{name}.out", "--life", f"{life_s:.0f}"]
        self.child = spawn(argv, env, self.path("log"), cwd=folder)

    def is_ready(self):
        return os.path.exists(self.path("ready"))

    def check(self):
        if self.child.poll() is None:
            return
        result = self.result(must=False)
        why = result.get("error") or tail(self.path("log")) or "no message"
        raise Failed(f"{self.name} ({self.program.spec}) ended with status "
                     f"{self.child.returncode}: {why}")

    def pause(self, paused):
        if paused != self.is_paused:
            self.is_paused = paused
            self.child.send_signal(signal.SIGUSR1 if paused else signal.SIGUSR2)
            return True
        return False

    def result(self, must=True):
        try:
            with open(self.path("out")) as f:
                return json.load(f)
        except (OSError, ValueError):
            if must:
                raise Failed(f"{self.name} ({self.program.spec}) left no result: "
                             f"{tail(self.path('log'))}") from None
            return {}


def wait_until_ready(tenants, timeout_s):
    def settled():
        for tenant in tenants:
            if not tenant.is_ready():
                tenant.check()
        return all(t.is_ready() for t in tenants)
    if not wait_for(settled, timeout_s, 0.02):
        late = ", ".join(f"{t.name} ({t.program.spec})" for t in tenants if not t.is_ready())
        raise Failed(f"not ready after {timeout_s:.0f} s: {late}")
