"""Runs one start of targets.py: says how many requests come, which targets hold, and what is measured."""
import base64
import glob
import os
import time

from . import control, events, measure, process
from .board import Board
from .mixes import AIMED, LEARNED, SLO, SLOWDOWN, SMQOS, SOLO
from .process import Tenant
from .programs import PROGRAMS, SOLO_MS
from .ways import WAYS, fell_back

CALIBRATE_S = 1.0
CALIBRATE_LOAD = 0.3
DRAIN_S = 0.5
LOOK_S = 0.5
REQ_MS = 0.11       # before it is measured
FEW_SIGMA = 6       # so far from the mean no number of arrivals is chance
COVERED = 0.98      # of a window, by the iterations of a batch program
MORE_READY_S = 60
LESSONS = "*lesson*"  # the daemon's files of what a policy has learned


def seed_of(name, load, draw=0):
    """The same arrivals of a program at a load in all ways; others when they are measured again."""
    return 10_000 * draw + 1000 * int(name[1:]) + round(100 * load) + 1


def _guess_ns(spec):
    return 1e6 * SOLO_MS.get(spec.partition("@")[0], REQ_MS)


class Steered(measure.Runner):
    """`known` (judge.Known) says what was measured of the programs before; None for the first start."""

    def __init__(self, tools, mark, options, known):
        super().__init__(tools, mark, options)
        self.known = known
        self.boards, self.service_ns, self.cell, self.folder = {}, {}, None, None

    # ---- how programs are started ----

    def _way(self, cell, folder):
        self.cell, self.folder = cell, folder
        self.boards = {name: Board(os.path.join(folder, f"{name}.board"))
                       for name, program in cell.tenants() if program.role == "latency"}
        way = WAYS[cell.topology](self.tools, folder, self.tools.environment(self.mark))
        first = next((w for w, _ in cell.windows if w.way != "alone"), cell.windows[0][0])
        way.options = {name: self._aim(name, first) for name in self.boards if first.way in AIMED}
        self._bring_lessons(way)
        return way

    def _aim(self, name, step):
        """How a program's target is stated when it starts. Who keeps a share of its rate alone takes that much
        longer in the mean: the nearest thing that SMQoS promises."""
        if self.cell.later:  # its targets come with the windows: nothing is to be decided by what warms up
            return ("--measure",)
        if step.way == SLOWDOWN:
            return "--slowdown", f"{step.factor:g}x"
        if step.way == SMQOS:
            return "--rate", f"{round(100 / step.factor)}%"
        return "--p99", self._target(name, step)

    def _argv(self, cell, tenant):
        argv = super()._argv(cell, tenant)
        return [*argv, "--board", f"{tenant.name}.board"] if tenant.name in self.boards else argv

    def _target(self, name, step):
        load = step.load or self.known.highest_load(name)
        return f"{round(step.factor * self.known.p99_us(name, load))}us"

    def _bring_lessons(self, way):
        """What the daemon kept in the start with the same targets before."""
        if not self.cell.learned:
            return
        os.makedirs(way.runtime, mode=0o700, exist_ok=True)
        lessons = self.known.lessons_of(self.cell.windows[0][0].label) if self.cell.wants else \
            self.known.lessons(self.cell.before)
        for name, text in lessons.items():
            with open(os.path.join(way.runtime, name), "wb") as f:
                f.write(base64.b64decode(text))

    def _ended(self, way, result):
        if self.cell.topology == SLO:
            result["lessons"] = _lessons(way)

    # ---- windows ----

    def _ready(self, tenants):
        for tenant in tenants:
            tenant.pause(tenant.program.role == "batch")

    def _course(self, cell, way, tenants, result):
        if self.known and self.known.service_us:
            self.service_ns = {name: 1e3 * us for name, us in self.known.service_us.items()}
        else:
            self._calibrate(tenants)
        self._rehearse(cell, way, tenants)
        result["service_us"] = {name: ns / 1e3 for name, ns in self.service_ns.items()}
        for window, seconds in cell.windows:
            scripted = self._script if window.label.startswith("steps") else self._window
            result["windows"].append(scripted(window, seconds, way, tenants))

    def _rehearse(self, cell, way, tenants):
        """A part that a program has not had before is made when what it has launched is done: for one that
        others starve, late. So all parts are made while nobody works."""
        for deal in dict.fromkeys(w.deal for w, _ in cell.windows if w.deal):
            way.deal(deal, tenants, bool(cell.changes))

    def _calibrate(self, tenants):
        """What a request of each program takes alone: the loads are made of it."""
        for tenant in tenants:
            board = self.boards.get(tenant.name)
            if not board:
                continue
            guess_ns = _guess_ns(tenant.program.spec)
            board.ask(CALIBRATE_LOAD * 1e9 / guess_ns, 1)
            time.sleep(CALIBRATE_S / 4)
            n, busy_ns = board.done()
            time.sleep(CALIBRATE_S)
            n, busy_ns = board.done()[0] - n, board.done()[1] - busy_ns
            self.service_ns[tenant.name] = busy_ns / n if n else guess_ns
            board.ask(0, 1)

    def _asked(self, _active):
        """The programs that share the load of a window."""
        return list(self.boards)

    def _ask(self, load, active, draw=0, fresh=True):
        n = len(self._asked(active)) or 1
        for name, board in self.boards.items():
            rate = load / n * 1e9 / self.service_ns[name]
            board.ask(rate if name in active else 0, seed_of(name, load, draw) if fresh else 0)

    def _drain(self):
        """No more requests come; those that wait get an answer, if there is one soon."""
        for board in self.boards.values():
            board.ask(0)
        process.wait_for(lambda: not any(b.waiting() for b in self.boards.values()), DRAIN_S)

    def _prepare(self, window, way, tenants):
        active = window.active or tuple(t.name for t in tenants)
        for tenant in tenants:
            if tenant.program.role == "batch":
                tenant.pause(tenant.name not in active)
        if window.policy:
            way.change_policy(window.policy)
        for name in self.boards:
            if window.way in (SLO, LEARNED, SOLO):
                way.command(f"{name} --p99 {self._target(name, window)}")
        wanted = way.deal(window.deal, tenants, bool(self.cell.changes)) if window.deal else None
        self._ask(window.load, active, window.draw)
        return wanted

    def _window(self, window, seconds, way, tenants):
        out = super()._window(window, seconds, way, tenants)
        self._drain()
        return self._say(out, window, way, tenants)

    def _say(self, out, window, way, tenants):
        """What judge.py wants to know of a window."""
        out.update(way=window.way, load=window.load, factor=window.factor, draw=window.draw,
                   beside=[t.program.spec for t in tenants
                           if t.program.role == "batch" and t.name in out["active"]])
        if window.way in AIMED:
            out["target_us"] = {name: int(self._target(name, window)[:-2]) for name in self.boards}
            out["explain"] = {name: text for name in out["active"] if (text := way.explain(name))}
        if self.cell.topology == SLO:
            out["lessons"] = _lessons(way)
        return out

    # ---- the trial with steps ----

    def _script(self, window, _, way, tenants):
        quiet = window.way == "alone"
        wanted = self._prepare(window, way, tenants)
        time.sleep(window.settle_s)
        out = {"label": window.label, "active": list(window.active) or [t.name for t in tenants],
               "changes": [], "looks": [], "t0_ns": time.monotonic_ns()}
        more, before = None, way.look()
        for i, change in enumerate(self.cell.changes):
            if quiet and (change.comes or change.goes):
                continue
            out["changes"].append({"what": change.what, "at_ns": time.monotonic_ns(), "load": change.load,
                                   **({"burst": True} if change.burst else {})})
            self._ask(change.load, out["active"], window.draw, not i)
            if change.comes:
                more = self._one_more(way, tenants)
                out["changes"].append({"what": "it is ready", "at_ns": time.monotonic_ns(),
                                       "load": change.load})
            if change.goes:
                process.end([more.child], measure.STOP_S)
                tenants.remove(more)
            self._watch(change.seconds, way, out["looks"])
        out["t1_ns"] = time.monotonic_ns()
        self._drain()
        look = way.look()
        out["fell_back"] = fell_back(look)
        if wanted:
            out["parts"] = control.of_window(before, look, wanted)
        return self._say(out, window, way, tenants)

    def _one_more(self, way, tenants):
        """It works from its first moment on; whoever else is there goes on."""
        tenant = Tenant("B9", PROGRAMS[self.cell.more], self.folder)
        argv, env = way.launch(tenant.name, tenant.program, super()._argv(self.cell, tenant))
        tenant.start(argv, env, "", 120)
        tenants.append(tenant)
        process.wait_until_ready([tenant], MORE_READY_S)
        return tenant

    def _watch(self, seconds, way, looks):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_S, left))
            look = way.look()
            if look and left > LOOK_S:
                looks.append({"at_ns": time.monotonic_ns(), **_arrangement(look)})

    # ---- what came of it ----

    def _figures(self, tenant, all_events, begin, end):
        if tenant.name in self.boards:
            return events.open_loop(all_events, begin, end)
        return events.rate(all_events, begin, end)

    def _read(self, cell, tenants, result):
        super()._read(cell, tenants, result)
        for window in result["windows"]:
            problems = [text for t in tenants if t.name in window["active"]
                        if (text := self._problem(t, window))]
            if problems:
                window["problems"] = problems
            if "changes" in window:
                _note_arrivals(window, tenants)

    def _problem(self, tenant, window):
        """Why a program was not at work through the whole window, or None."""
        begin, end = window["t0_ns"], window["t1_ns"]
        figures = window["programs"][tenant.name]
        if tenant.name not in self.boards:
            covered = events.ran_through(tenant.events, begin, end)
            return None if covered >= COVERED else \
                f"{tenant.name} was at work in {covered:.2f} of the window"
        if "changes" in window:
            return None
        mean = window["load"] / len(self._asked(window["active"])) * (end - begin) / self.service_ns[tenant.name]
        few = figures["n"] < mean - FEW_SIGMA * mean ** 0.5 - 1
        return f"{tenant.name} had {figures['n']} arrivals instead of {mean:.0f}" if few else None


def _lessons(way):
    """The files of what the daemon has learned so far, by name, in base64."""
    found = {}
    for path in glob.glob(os.path.join(way.runtime, LESSONS)):
        with open(path, "rb") as f:
            found[os.path.basename(path)] = base64.b64encode(f.read()).decode()
    return found


def _note_arrivals(window, tenants):
    """When each request came, for figures of any stretch; beside raw_100ns."""
    for tenant in tenants:
        figures = window["programs"].get(tenant.name, {})
        if "raw_100ns" in figures:
            figures["raw_at_10us"] = events.arrivals(tenant.events, window["t0_ns"], window["t1_ns"])


def _arrangement(look):
    """Of what the daemon says, how the GPU is shared at the moment."""
    return {"pools": {p["name"]: [p.get("slice_us"), p.get("state"), p.get("mode")]
                      for p in look.get("pools", [])},
            "parts": {t["name"]: [t["part"].get("first"), t["part"].get("sms")]
                      for t in look.get("tenants", []) if t.get("part")}}
