"""Runs one cell: starts its programs, sets its windows, and reads what came of it."""
import os
import shutil
import tempfile
import time

from . import control, events, process, stuck
from .process import Failed, Tenant
from .programs import REQUEST_US
from .ways import WAYS, fell_back

READY_S, READY_TORCH_S = 30, 120
STOP_S = 15
LIFE_S = 600  # of a program whose runner cannot end it
FIRST_SETTLE_S = 0.3
SEGMENT_MARGIN_NS = 150_000_000  # of a variant: what is in the queue belongs to the one before


class Runner:
    def __init__(self, tools, mark, options):
        self.tools, self.mark, self.options = tools, mark, options

    def run(self, cell):
        """The cell's result. Whatever happens, nothing of it runs on afterwards."""
        begin = time.monotonic()
        folder = tempfile.mkdtemp(prefix="cl-")
        result = {"id": cell.id, "group": cell.group, "start": cell.start, "rep": cell.rep,
                  "latency": cell.latency, "batch": cell.batch,
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        way = self._way(cell, folder)
        tenants = [Tenant(name, program, folder) for name, program in cell.tenants()]
        try:
            way.start()
            self._measure(cell, way, tenants, folder, result)
            result["status"] = "ok"
        except Failed as e:
            result.update(status="failed", why=str(e)[:1000], seen=stuck.look(way, tenants))
        finally:
            process.end([t.child for t in tenants if t.child], STOP_S)
            way.stop()
            self._ended(way, result)
            result["left_over"] = process.sweep(self.mark)
            if result.get("status") != "ok":
                result["logs"] = _logs(folder)
            shutil.rmtree(folder, ignore_errors=True)
            result["seconds"] = round(time.monotonic() - begin, 2)
        return result

    # ---- the course of a cell ----

    def _ready(self, tenants):
        """They are, and wait for the word."""

    def _ended(self, way, result):
        """All has been stopped; the folder is there still."""

    def _way(self, cell, folder):
        return WAYS[cell.start](self.tools, folder, self.tools.environment(self.mark))

    def _argv(self, cell, tenant):
        program = tenant.program
        argv = [*self.tools.programs[program.tool], *program.arguments]
        if program.tool == "req" and self.options.get("req_iters"):
            us = float(argv[argv.index("--us") + 1])
            argv += ["--iters", str(round(self.options["req_iters"] * us / REQUEST_US))]
        if cell.each_s and program.role == "batch":
            argv += ["--each", f"{cell.each_s:.3f}"]
        if program.tool == "tenants":
            argv += self.options.get("torch_arguments", [])
        return argv

    def _measure(self, cell, way, tenants, folder, result):
        go = os.path.join(folder, "go")
        length_s = sum(w.settle_s + s for w, s in cell.windows)
        ready_s = READY_TORCH_S if cell.torch else READY_S
        for i, tenant in enumerate(tenants):
            argv = self._argv(cell, tenant)
            if tenant.program.role == "latency":
                argv += ["--seed", str(1 + i)]
            argv, env = way.launch(tenant.name, tenant.program, argv)
            tenant.start(argv, env, go, max(LIFE_S, ready_s + length_s + 30))
        began = time.monotonic()
        process.wait_until_ready(tenants, ready_s)
        result["start_s"] = round(time.monotonic() - began, 2)
        self._ready(tenants)
        with open(go, "w"):
            pass
        time.sleep(FIRST_SETTLE_S)
        result["windows"] = []
        self._course(cell, way, tenants, result)
        result["memory"] = _library_memory(way.look(), self.tools.library)
        self._stop(tenants, result)
        self._read(cell, tenants, result)
        fallen = next((w["fell_back"] for w in result["windows"] if w.get("fell_back")), None)
        if fallen:
            raise Failed(fallen)

    def _course(self, cell, way, tenants, result):
        """All windows, from the time on when the programs go."""
        for window, seconds in cell.windows:
            result["windows"].append(self._window(window, seconds, way, tenants))

    def _prepare(self, window, way, tenants):
        """All but the waiting; returns how many SMs each batch program should have, or None."""
        for tenant in tenants:
            tenant.pause(bool(window.active) and tenant.name not in window.active)
        for command in window.commands:
            way.command(command)
        return way.deal(window.deal, tenants) if window.deal else None

    def _pass(self, _window, seconds, _way, _out):
        time.sleep(seconds)

    def _window(self, window, seconds, way, tenants):
        wanted = self._prepare(window, way, tenants)
        time.sleep(window.settle_s)
        out = {"label": window.label, "active": list(window.active) or [t.name for t in tenants]}
        before = way.look() if window.deal else None
        cpu = way.cpu_s()
        out["t0_ns"] = time.monotonic_ns()
        self._pass(window, seconds, way, out)
        out["t1_ns"] = time.monotonic_ns()
        if cpu is not None:
            out["daemon_cpu"] = ((way.cpu_s() or cpu) - cpu) / seconds
        for tenant in tenants:
            tenant.check()
        look = way.look()
        if look:
            out["look"] = _short_look(look)
            out["fell_back"] = fell_back(look)
        if window.deal:
            out["parts"] = control.of_window(before, look, wanted)
        return out

    def _figures(self, tenant, all_events, begin, end):
        return figures(tenant, all_events, begin, end)

    def _stop(self, tenants, result):
        for tenant in tenants:
            tenant.pause(False)
        result["killed"] = process.end([t.child for t in tenants], STOP_S)
        for tenant in tenants:
            if tenant.child.returncode:
                tenant.check()

    def _read(self, cell, tenants, result):
        result["tenants"] = {}
        for tenant in tenants:
            left = tenant.result()
            all_events = events.load(tenant.path("out.bin"))
            left.update(spec=tenant.program.spec, role=tenant.program.role)
            result["tenants"][tenant.name] = left
            for window in result["windows"]:
                if tenant.name in window["active"]:
                    window.setdefault("programs", {})[tenant.name] = \
                        self._figures(tenant, all_events, window["t0_ns"], window["t1_ns"])
            tenant.events = all_events
            if "parts" in left:
                _read_parts(tenant, left.pop("parts"), result["windows"])
        if cell.each_s:
            _read_segments(tenants, result)


def figures(tenant, all_events, begin, end, raw=True):
    if tenant.program.role == "latency":
        return events.latency(all_events, begin, end, raw)
    return events.rate(all_events, begin, end)


def _read_parts(tenant, parts, windows):
    """What the requests of each window were made of; see --stamps of req."""
    for window in windows:
        figures = window.get("programs", {}).get(tenant.name)
        if figures:
            figures["parts"] = events.parts(parts, window["t0_ns"], window["t1_ns"])


def _read_segments(tenants, result):
    """Windows of variants: cut by what the batch program says it did when."""
    segments = result["tenants"]["B1"].pop("segments", [])
    result["segments"] = []
    for window in result["windows"]:
        if not window["label"].startswith("cycle:"):
            continue
        for label, begin, end in segments:
            begin = max(begin + SEGMENT_MARGIN_NS, window["t0_ns"])
            end = min(end, window["t1_ns"])
            if end - begin < 50_000_000:
                continue
            programs = {t.name: figures(t, t.events, begin, end, raw=False)
                        for t in tenants if t.name in window["active"]}
            result["segments"].append({"window": window["label"], "variant": label,
                                       "t0_ns": begin, "t1_ns": end, "programs": programs})


def _short_look(look):
    """Of what the daemon says, what belongs into a result."""
    keys = ("name", "class", "pool", "state", "slice_us", "mode", "slice_read_back_us", "mps",
            "channel_groups", "channels", "freezes", "thaws", "failed_orders", "lapsed_leases",
            "target", "requests", "launches", "freeze_last_ms", "freeze_max_ms", "thaw_last_ms", "thaw_max_ms", "doubts", "deaths")
    return {"policy": look.get("daemon", {}).get("policy"), "core": look.get("core"),
            "pools": [{k: p[k] for k in keys if k in p} for p in look.get("pools", [])],
            "tenants": [{k: t[k] for k in keys if k in t} for t in look.get("tenants", [])]}


def _library_memory(look, library):
    """KiB of libcotenant.so in each process that has it: its mappings and its zeroed data."""
    if not look:
        return None
    pids = [pid for e in look.get("pools", []) + look.get("tenants", [])
            for pid in e.get("library_pids", [])]
    return {str(pid): kib for pid in pids if (kib := library_kib(pid)) is not None}


def library_kib(pid, name="libcotenant.so"):
    total, inside, last_end, counts = 0, False, None, False
    try:
        with open(f"/proc/{pid}/smaps") as f:
            for line in f:
                head = line.split()
                if "-" in head[0] and not head[0].endswith(":"):
                    begin, end = (int(x, 16) for x in head[0].split("-"))
                    named = len(head) > 5
                    inside = named and name in head[-1]
                    # The zeroed data has no name and lies right behind.
                    counts = inside or (not named and last_end == begin)
                    last_end = end if inside else None
                elif counts and head[0] == "Rss:":
                    total += int(head[1])
    except (OSError, ValueError, IndexError):
        return None
    return total or None


def _logs(folder):
    logs = {}
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".log", ".conf")) or os.path.basename(base) == "log":
                logs[name] = process.tail(os.path.join(base, name), 1500)
    return logs
