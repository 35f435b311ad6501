"""Programs that are driven by lines on standard input, and answer each with a line of JSON."""
import json
import os
import select
import subprocess
import time

from livebench import process
from livebench.process import Failed


class App:
    """A smguard-app under some way of sharing. Its log lies in `folder`."""

    def __init__(self, name, argv, env, folder):
        self.name, self.rest = name, b""
        self.log = os.path.join(folder, name + ".log")
        self.child = process.spawn(argv, env, self.log, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        self.ready = None

    def tell(self, line):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError as e:
            raise Failed(f"{self.name} does not listen: {e}; {process.tail(self.log)}") from None

    def _line(self, timeout_s):
        end = time.monotonic() + timeout_s
        out = self.child.stdout.fileno()
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                raise Failed(f"{self.name} has not answered for {timeout_s:.0f} s")
            more = os.read(out, 65536)
            if not more:
                self.child.wait()
                raise Failed(f"{self.name} ended with status {self.child.returncode}: "
                             f"{process.tail(self.log) or 'no message'}")
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def hear(self, event, timeout_s):
        line = self._line(timeout_s)
        try:
            answer = json.loads(line)
        except ValueError:
            raise Failed(f"{self.name} answered {line[:100]!r}") from None
        if answer.get("event") != event:
            raise Failed(f"{self.name} answered {line[:100]!r}; expected {event}")
        return answer

    def wait_until_ready(self, timeout_s):
        self.ready = self.hear("ready", timeout_s)
        if self.ready.get("right") is False:
            raise Failed(f"{self.name}: the first result is not the CPU's")

    def threads(self):
        """Name, state and what it waits for in the kernel, of each thread."""
        folder, found = f"/proc/{self.child.pid}/task", []
        try:
            for task in sorted(os.listdir(folder)):
                with open(f"{folder}/{task}/stat", encoding="utf-8", errors="replace") as f:
                    name, _, rest = f.read().partition("(")[2].rpartition(")")
                with open(f"{folder}/{task}/wchan", encoding="utf-8") as f:
                    found.append(f"{name} {rest.split()[0]} {f.read()}")
        except (OSError, IndexError):
            pass
        return found

    def end(self):
        """Lets it end by itself, as it should, and by force if it does not."""
        if self.child.poll() is None:
            try:
                self.tell("quit")
                self.child.stdin.close()
                self.child.wait(5)
            except (Failed, OSError, subprocess.TimeoutExpired):
                pass
        process.end([self.child])
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except OSError:
                pass


def check(apps, timeout_s):
    """Names of those whose last result is wrong; afterwards everything is as it was at first."""
    for app in apps:
        app.tell("check")
    return [a.name for a in apps if not a.hear("check", timeout_s)["same"]]
