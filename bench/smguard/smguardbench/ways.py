"""Ways of sharing: each has an MPS server of its own, into which all programs of the way go."""
import os
import shutil
import tempfile

from livebench import process
from livebench.process import Failed
from livebench.ways import Cotenant, Mps

from . import plan
from .apps import App


class PlainMps(Mps):
    """As NVIDIA ships it."""
    policy = None

    def launch_app(self, role, name, argv):
        return argv, self.client_env()


class Shared(Cotenant):
    """A daemon with one of the policies that put all programs into one pool."""
    adapts = True   # may lend what is reserved to kernels of short tasks
    shares = {"latency": (), "batch": ()}

    def configure(self, more=""):
        short_us = self.tools.short_task_us if self.adapts else 0
        return super().configure(f"adapt_task_us: {short_us}\n{more}")

    def launch_app(self, role, name, argv):
        run = [*self.tools.cotenant, "run", "--required", "--class", role, "--name", name,
               *self.shares[role]]
        return [*run, "--", *argv], {**self.env, "COTENANT_LOG": "info"}


RESERVED = f"{100 * plan.RESERVE // plan.OF_SMS}%"
LEFT = f"{100 - 100 * plan.RESERVE // plan.OF_SMS}%"


class SMGuard(Shared):
    """Batch kernels of short tasks may have all SMs while no latency-sensitive one is there."""
    policy = "smguard"
    shares = {"latency": ("--reserve", RESERVED), "batch": ("--quota", "100%")}


class Fixed(Shared):
    """The paper's default: what is reserved is never lent."""
    policy = "smguard"
    adapts = False
    shares = {"latency": ("--reserve", RESERVED), "batch": ("--quota", LEFT)}


class EffiSha(Shared):
    """The whole GPU belongs to one program at a time."""
    policy = "effisha"
    shares = {"latency": ("--reserve", "100%"), "batch": ("--quota", "100%")}


class Own(PlainMps):
    """Plain MPS; the batch program keeps to its part of the GPU by itself."""
    form = None

    def launch_app(self, role, name, argv):
        argv, env = super().launch_app(role, name, argv)
        if role == "batch":
            sms = self.tools.sms - round(self.tools.sms * plan.RESERVE / plan.OF_SMS)
            argv = [*argv, "--as", self.form, "--sms", str(max(1, sms))]
        return argv, env


class CapSM(Own):
    """As many workers as that many SMs hold, wherever the hardware places them."""
    form = "workers"


class Gathered(Own):
    """As many workers as that many SMs hold, on whole SMs."""
    form = "gathered"


class Retreat(Own):
    """Filling and retreating: blocks on other SMs end at once."""
    form = "retreat"


WAYS = {"mps": PlainMps, "smguard": SMGuard, "effisha": EffiSha, "fixed": Fixed, "capsm": CapSM,
        "gathered": Gathered, "retreat": Retreat}


class Site:
    """A way that has been set up, and the programs in it by kernel."""

    def __init__(self, name, tools, mark, sizes, options):
        self.name, self.sizes, self.options = name, sizes, options
        self.folder = tempfile.mkdtemp(prefix="cs-")
        env = {**tools.environment(mark), **{k: v for k, v in os.environ.items()
                                             if k.startswith("COTENANT_EMU_")}}
        self.way = WAYS[name](tools, self.folder, env)
        self.program = os.path.join(tools.bin, "smguard-app")
        self.apps = {}
        self.way.start()

    def start(self, kernel, role, reference):
        """Does not wait until it is ready, on a GPU. reference: compares with the CPU's result."""
        argv = [self.program, *size_arguments(kernel, self.sizes[kernel], self.options),
                "--commands"]
        if not (reference and self.options.reference):
            argv.append("--no-reference")
        argv, env = self.way.launch_app(role, kernel, argv)
        self.apps[kernel] = App(f"{self.name}-{kernel}", argv, env, self.folder)
        if self.options.tiny:  # many at a time would keep the emulated GPU busy with switching
            self.settle()

    def settle(self):
        for app in self.apps.values():
            if not app.ready:
                app.wait_until_ready(self.options.start_s)

    def end(self, kernel):
        if kernel in self.apps:
            self.apps.pop(kernel).end()

    def stats(self):
        """What the daemon says, by the name of the program."""
        if not self.way.policy:
            return {}
        return {t.get("name"): t for t in self.way.look().get("tenants", [])}

    def last_words(self):
        """Logs, threads and the daemon's view, for who looks for what went wrong."""
        out = {"way": process.tail(self.way.log, 4000)}
        for kernel, app in self.apps.items():
            out[kernel] = {"log": process.tail(app.log, 2000), "ready": bool(app.ready),
                           "threads": app.threads()}
        try:
            out["stats"] = self.stats()
        except Failed as e:
            out["stats"] = str(e)
        return out

    def close(self):
        for kernel in list(self.apps):
            self.end(kernel)
        self.way.stop()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def size_arguments(kernel, size, options):
    arguments = [plan.KERNELS[kernel].name, "--size", "test" if options.tiny else "gpu"]
    for name in ("blocks", "work"):
        if size.get(name):
            arguments += [f"--{name}", str(size[name])]
    return arguments
