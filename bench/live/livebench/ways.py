"""The ways of sharing a GPU: what has to run beside the programs, and how these are started.

Everything lives in private folders and is stopped at the end. Nothing of the GPU is set.
"""
import json
import os
import shutil
import signal
import subprocess

from . import control, process
from .process import Failed

START_S, STOP_S = 20, 15
PLACED_S = 3  # until all programs are on their parts
LAIUS = "laius"


def _library(folder):
    """Where `cotenant run` finds it: COTENANT_LIBRARY, or beside the programs."""
    lib = os.path.join(os.path.dirname(folder), "lib")
    places = [os.path.join(lib, "cotenant", "libcotenant.so"), os.path.join(lib, "libcotenant.so")]
    named = os.environ.get("COTENANT_LIBRARY")
    return named or next((p for p in places if os.path.exists(p)), places[-1])


def _mps_control():
    """COTENANT_MPS_CONTROL, or the driver's, which is not in PATH everywhere."""
    name = "nvidia-cuda-mps-control"
    return os.environ.get("COTENANT_MPS_CONTROL") or shutil.which(name) or \
        shutil.which(name, path="/usr/local/nvidia/bin:/usr/bin:/usr/local/bin") or name


class Tools:
    """Where the programs are: argv prefixes."""

    def __init__(self, live, root, fake=False, cotenant=None, python="python3"):
        self.fake, self.root = fake, root
        self.bin = cotenant or os.path.join(root, "build", "bin")
        self.library = _library(self.bin)
        self.deps = os.path.join(live, "bin", "deps")
        self.mps = [_mps_control()]
        self.cotenant = [os.path.join(self.bin, "cotenant")]
        self.cotenantd = [os.path.join(self.bin, "cotenantd")]
        self.programs = {name: [os.path.join(live, "bin", name)] for name in ("req", "hog", "cost")}
        self.programs["tenants"] = [python, os.path.join(live, "tenants.py")]
        if fake:
            stand_in = [python, os.path.join(live, "fake.py")]
            self.programs = {name: [*stand_in, name] for name in self.programs}
            if not cotenant:
                self.mps = [*stand_in, "mps"]
                self.cotenant = [*stand_in, "cotenant"]
                self.cotenantd = [*stand_in, "cotenantd"]

    def environment(self, mark):
        env = process.clean_environment(mark)
        if not self.fake and os.path.isabs(self.mps[0]):
            env["COTENANT_MPS_CONTROL"] = self.mps[0]
        if os.path.isdir(self.deps):
            old = env.get("LD_LIBRARY_PATH")
            env["LD_LIBRARY_PATH"] = self.deps + (":" + old if old else "")
        return env


class Way:
    """Default time slicing: nothing beside the programs."""

    def __init__(self, tools, folder, env):
        self.tools, self.folder, self.env = tools, folder, env
        self.log = os.path.join(folder, "way.log")

    def start(self):
        pass

    def launch(self, name, program, argv):
        """The argv and environment that put a program into this way."""
        return argv, dict(self.env)

    def command(self, text):
        raise Failed(f"'{text}' needs cotenant")

    def look(self):
        """What the way says of itself; None for a way without a daemon."""
        return None

    def cpu_s(self):
        return None

    def stop(self):
        pass


class Mps(Way):
    """One MPS server for all."""
    percent = None

    def __init__(self, tools, folder, env):
        super().__init__(tools, folder, env)
        self.pipe = os.path.join(folder, "pipe")
        self.env = {**env, "CUDA_MPS_PIPE_DIRECTORY": self.pipe,
                    "CUDA_MPS_LOG_DIRECTORY": os.path.join(folder, "log")}
        self.control = None

    def tell(self, line):
        """What the control program answers."""
        try:
            return subprocess.run(self.tools.mps, input=line + "\n", env=self.env, text=True, timeout=10,
                                  capture_output=True, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""

    def clients(self):
        """Process numbers of the clients of its servers."""
        servers = self.tell("get_server_list").split()
        return [int(pid) for server in servers if server.isdigit()
                for pid in self.tell(f"get_client_list {server}").split() if pid.isdigit()]

    def start(self):
        for name in ("pipe", "log"):
            os.makedirs(os.path.join(self.folder, name), mode=0o700, exist_ok=True)
        self.control = process.spawn([*self.tools.mps, "-f"], self.env, self.log)
        listens = os.path.join(self.pipe, "control")
        if not process.wait_for(lambda: os.path.exists(listens) or
                                self.control.poll() is not None, START_S) or \
                self.control.poll() is not None:
            raise Failed(f"the MPS control program did not start: {process.tail(self.log)}")
        self.tell(f"start_server -uid {os.geteuid()}")

    def client_env(self):
        env = dict(self.env)
        if env.get(process.VISIBLE, "").isdigit():
            env[process.VISIBLE] = "0"  # the server sees one GPU only, which is then the first to its programs
        return env

    def launch(self, name, program, argv):
        env = self.client_env()
        if self.percent and program.role == "batch":
            env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(self.percent)
        return argv, env

    def stop(self):
        if self.control and self.control.poll() is None:
            self.tell("quit")
            process.wait_for(lambda: self.control.poll() is not None, STOP_S)
        if self.control:
            process.end([self.control])


class MpsShares(Mps):
    """The same; a batch program whose name ends with %50 gets that percentage."""

    def launch(self, name, program, argv):
        argv, env = super().launch(name, program, argv)
        share = name.partition("%")[2]
        if share:
            env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = share
        return argv, env


class Mps70(Mps):
    percent = 70


class Mps50(Mps):
    percent = 50


class Mps30(Mps):
    percent = 30


class Cotenant(Way):
    """A daemon of our own, and programs started by `cotenant run`."""
    policy = "pools"
    solo = ()

    def __init__(self, tools, folder, env):
        super().__init__(tools, folder, env)
        self.runtime = os.path.join(folder, "run")
        self.env = {**env, "COTENANT_RUNTIME_DIR": self.runtime}
        self.daemon = None
        self.options = {}  # of `cotenant run`, by name

    def configure(self, more=""):
        path = os.path.join(self.folder, "cotenantd.conf")
        with open(path + ".new", "w") as f:
            f.write(f"schema: cotenantd/1\npolicy: {self.policy}\n{more}")
        os.replace(path + ".new", path)
        return path

    def start(self):
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        self.daemon = process.spawn([*self.tools.cotenantd, "--config", self.configure()],
                                    self.env, self.log)
        socket = os.path.join(self.runtime, "cotenantd.sock")
        if not process.wait_for(lambda: os.path.exists(socket) or
                                self.daemon.poll() is not None, START_S) or \
                self.daemon.poll() is not None:
            raise Failed(f"cotenantd did not start: {process.tail(self.log)}")

    def launch(self, name, program, argv):
        run = [*self.tools.cotenant, "run", "--required", "--class", program.role, "--name", name]
        if program.role in self.solo:
            run.append("--solo")
        run += self.options.get(name, ())
        return [*run, "--", *argv], dict(self.env)

    def ask(self, *arguments):
        try:
            return subprocess.run([*self.tools.cotenant, *arguments], env=self.env, text=True,
                                  timeout=10, capture_output=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Failed(f"cotenant {arguments[0]}: {e}") from None

    def change_policy(self, policy):
        """Of programs that the new one leaves where they are."""
        if policy == self.policy:
            return
        self.policy = policy
        self.reload()
        if not process.wait_for(lambda: self.look()["daemon"].get("policy") == policy, PLACED_S, 0.05):
            raise Failed(f"the policy is not {policy}: {process.tail(self.log)}")

    def reload(self, more=""):
        self.configure(more)
        self.daemon.send_signal(signal.SIGHUP)

    def explain(self, name):
        """What the policy does with a program and why, in words; None where nobody says."""
        done = self.ask("explain", name)
        return done.stdout.strip()[:2000] if not done.returncode else None

    def command(self, text):
        done = self.ask("set", *text.split())
        if done.returncode:
            raise Failed(f"cotenant set {text}: {done.stderr.strip() or done.stdout.strip()}")

    def look(self):
        done = self.ask("stats", "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise Failed(f"cotenant stats: {(done.stderr or done.stdout).strip()[:200]}") from None

    def cpu_s(self):
        try:
            with open(f"/proc/{self.daemon.pid}/stat", "rb") as f:
                fields = f.read().rpartition(b")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return None

    def _is_empty(self):
        try:
            return not self.look()["tenants"]
        except (Failed, KeyError):
            return True

    def stop(self):
        """Its programs have ended by now; the daemon then stops its pools itself."""
        if self.daemon and self.daemon.poll() is None:
            process.wait_for(self._is_empty, 3, 0.1)
            self.daemon.terminate()
            process.wait_for(lambda: self.daemon.poll() is not None, STOP_S)
        if self.daemon:
            process.end([self.daemon])


class PoolsSolo(Cotenant):
    solo = ("latency",)


class Rotate(Cotenant):
    policy = "rotate"


class Parts(Cotenant):
    """All programs in one MPS server, each on its part of the SMs, which changes while they run."""
    policy = "parts"

    def deal(self, deal, tenants, more=False):
        """Places the programs; returns how many SMs the batch programs then should have together
        (None: as the policy likes)."""
        batch = [t.name for t in tenants if t.program.role == "batch"]
        latency = [t.name for t in tenants if t.program.role == "latency"]
        gpu_sms, unit = self._gpu()
        n = deal.batch_sms
        # One batch program is told its size. Several share what is left for them by weight, each
        # on SMs of its own, so what is set is how many that are. `more`: there will be others.
        if len(batch) > 1 or more:
            self.reload(f"latency_permille: {-(-1000 * (gpu_sms - n) // gpu_sms)}\n" if n else "")
        elif batch:
            self.command(f"{batch[0]} --sms {n or 'none'}")
        rest = (gpu_sms - n) // len(latency) // unit * unit if deal.rest else "none"
        for name, sms in zip(latency, deal.latency or [rest] * len(latency)):
            self.command(f"{name} --sms {sms}")
        process.wait_for(lambda: self._batch_has(n), PLACED_S, 0.05)
        return n or None

    def _gpu(self):
        """How many SMs it has and how many make a unit, as the programs found."""
        part = {}

        def known():
            part.update(next((t["part"] for t in self.look().get("tenants", [])
                              if (t.get("part") or {}).get("can_be_placed")), {}))
            return part
        if not process.wait_for(known, PLACED_S, 0.1):
            raise Failed("no program can be placed: " + "; ".join(
                str(t.get("part_effect")) for t in self.look().get("tenants", [])))
        return part["gpu_sms"], part["unit"]

    def _batch_has(self, n):
        return not n or control.batch_end(self.look()) == n


class Alone(Cotenant):
    """Each program stands alone: for time slicing, and for policies without pools."""
    policy = "timeslice"


class Slo(Cotenant):
    """The policy that keeps targets."""
    policy = "slo"


class SloSolo(Slo):
    """The same, with latency programs outside the pools."""
    solo = ("latency",)


class Smqos(Cotenant):
    """SMQoS's algorithms: a program keeps a share of its own rate."""
    policy = "smqos"


class Laius(Cotenant):
    """Policies that plan for requests: the daemon knows of programs what is in files, by their names."""
    policy = LAIUS

    def __init__(self, tools, folder, env):
        super().__init__(tools, folder, env)
        self.knowledge, self.dram_gb_per_s = {}, None

    def configure(self, more=""):
        if self.dram_gb_per_s:
            more += f"dram_gb_per_s: {self.dram_gb_per_s:g}\n"
        if self.knowledge:
            more += "knowledge:\n" + "".join(f"  - {{name: {name}, file: {path}}}\n"
                                             for name, path in self.knowledge.items())
        return super().configure(more)


class AllSolo(Cotenant):
    """For what control costs one program: no pools, no turns."""
    solo = ("latency", "batch")


WAYS = {"plain": Way, "mps": Mps, "mps70": Mps70, "mps50": Mps50, "mps30": Mps30,
        "pools": Cotenant, "pools-solo": PoolsSolo, "rotate": Rotate, "parts": Parts,
        "cost": AllSolo, "alone": Alone, "mps-shares": MpsShares, "slo": Slo, "slo-solo": SloSolo, "smqos": Smqos,
        LAIUS: Laius}


def fell_back(look):
    """Why the way was not the one that was asked for, or None."""
    if not look:
        return None
    daemon = look.get("daemon", {})
    if daemon.get("policy") != daemon.get("policy_wanted"):
        return f"the policy was {daemon.get('policy')}"
    return None
