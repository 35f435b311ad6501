"""What programs were doing when a cell failed: threads of each and all that it started, and what the daemon says."""
import os

from .process import Failed

TEXT_MAX = 4000


def _read(path):
    try:
        with open(path, "rb") as f:
            return f.read(TEXT_MAX).decode(errors="replace").strip()
    except OSError:
        return ""


def _children(pid):
    return [int(c) for task in _tasks(pid) for c in _read(f"/proc/{pid}/task/{task}/children").split()]


def _tasks(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def threads(pid):
    """One line a thread: its name and state, the system call it is in, and where the kernel has it wait."""
    lines = []
    for task in _tasks(pid):
        base = f"/proc/{pid}/task/{task}/"
        state = _read(base + "stat").rpartition(")")[2].split()[:1]
        lines.append(" | ".join((task, _read(base + "comm"), *state, _read(base + "syscall"), _read(base + "wchan"),
                                 _read(base + "stack").replace("\n", " < "))))
    for child in _children(pid):
        lines += threads(child)
    return lines


def look(way, tenants):
    seen = {"threads": {t.name: threads(t.child.pid) for t in tenants if t.child}}
    try:
        seen["stats"] = way.look()
        seen["explain"] = {t.name: way.explain(t.name) for t in tenants}
    except (AttributeError, Failed) as e:  # a way without a daemon explains nothing
        seen["daemon"] = str(e)
    return seen
