#!/usr/bin/env python3
"""Runs the commands of one document, in their order, as a reader types them.

    commands.py PAGE [--write]      PAGE as README.md or docs/man/cotenant-run.1.scd; --write puts what is printed now
                                    into its blocks "output exact", as many lines as they have before "..."

In a page (*.md) commands are the blocks that begin with ```sh; in a manual page (*.scd) all blocks of EXAMPLES. A block
that begins with "schema:" is a file: the program that is for such files reads it. A block ```output shows what the
commands of the block before it print. Numbers with their units, the length of rules and blanks are masked; a line "..."
stands for any lines. With ```output exact nothing is masked but blanks at the ends.

Commands run in a scratch folder that looks like the root of the sources, with build/bin first in PATH. There is no
GPU; an emulated one, set by the environment, takes its place for `cotenant run` without --emulate. Programs that a
page takes as given (train.py, ./serve) are small ones of programs/. What cannot run so stands in table.py, with the
reason; each row there must apply. The script that runs has its commands at the lines where the page has them, so a
failure names these.

Needs from the environment SOURCE_DIR, COTENANT, COTENANT_LIBRARY and EMU, as the tests of several processes have them.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import table  # noqa: E402

SOURCE = os.environ["SOURCE_DIR"]
BIN = os.path.dirname(os.environ["COTENANT"])
LIMIT_S = 600  # of a machine with much other work
A_COMMAND = re.compile(r"(cotenantd?|kernels-run|smguard-app|python3?|cmake|ctest|make|\./dev|scripts/\S+|sudo|apt) ")
READERS = {"cotenant.scenario/1": 'cotenant sim "$1"', "cotenant.kernels/1": 'cotenant model time "$1"',
           "cotenantd/1": 'cotenantd --check-config --config "$1"'}


class Block:
    """Lines between two fences: of the page's lines (from 1) those from first on."""

    def __init__(self, kind, fence, indent):
        self.kind, self.fence, self.indent, self.lines = kind, fence, indent, []

    def is_file(self):
        return bool(self.lines) and self.lines[0].startswith("schema: ")


def blocks_of(page, complain):
    """The page's blocks, and the number of its lines."""
    manual = page.endswith(".scd")
    blocks, block, section, before = [], None, "", ""
    with open(os.path.join(SOURCE, page)) as f:
        lines = f.read().split("\n")
    for n, line in enumerate(lines, 1):
        fence = re.match(r"( *)```(.*)", line)
        if block is None and fence:
            kind = fence[2].strip()
            if manual:
                kind = "sh" if section == "EXAMPLES" else ""
            block = Block(kind, n, len(fence[1]))
        elif fence:
            blocks.append(block)
            block, line = None, ""
        elif block is not None:
            block.lines.append(line[block.indent:])
            if block.kind == "" and A_COMMAND.match(line) and not manual:
                complain(n, f"a command in a block without ```sh: {line}")
        elif manual and line.startswith("# "):
            section = line[2:]
        elif not manual and not before.strip() and line.startswith("    ") and A_COMMAND.match(line.strip()):
            complain(n, f"an indented command; expected a block ```sh: {line.strip()}")
        before = line
    return blocks, len(lines)


def logical(block):
    """(number in the page, text) of each command; lines that end with \\, and here documents, belong together."""
    result, text, start, end = [], "", 0, None
    for n, line in enumerate(block.lines, block.fence + 1):
        start, text = (start, text + "\n" + line) if text else (n, line)
        heredoc = end is None and re.search(r"<<-?\s*['\"]?(\w+)", line)
        if heredoc:
            end = heredoc[1]
        elif end is not None and line.strip() == end:
            end = None
        if end is None and not line.endswith("\\"):
            result.append((start, text))
            text = ""
    return result + ([(start, text)] if text else [])


class Script:
    """What is run: line n of it is line n of the page."""

    def __init__(self, page, n_lines):
        self.lines = [""] * (n_lines + 1)
        self.rows = [list(row) + [0] for row in table.ROWS if row[0] == page]
        self.n_commands = 0

    def treat(self, text):
        """The command as the table has it."""
        for row in self.rows:
            if re.search(row[1], text, re.S):
                row[-1] += 1
                if row[2] is None:
                    return None
                text = re.sub(row[1], row[2], text, flags=re.S)
        return text

    def put(self, number, text):
        lines = text.split("\n")
        for k, line in enumerate(lines):
            self.lines[number - 1 + k] += line

    def add(self, block):
        """A block's output goes to a file of its own, called as its first line."""
        end = block.fence + len(block.lines)
        self.put(block.fence, f'exec >"$OUT/{block.fence}" 2>&1')
        wait = ""
        for number, text in logical(block):
            ran = self.treat(text)
            if not text.strip() or text.startswith("#") or ran is None:
                continue
            self.n_commands += 1
            behind = re.search(r"&\s*(#[^\n]*)?$", ran) and not ran.rstrip().endswith("&&")
            name = re.search(r"--name[ =](\S+)", ran) if "cotenant run" in ran else None
            long = behind or "cotenant profile" in ran
            prefix = f"{wait}STAND_IN={'long' if long else 'brief'}; "
            self.put(number, prefix + ran)
            wait = f"until_there {name[1]}; " if behind and name else ""
        self.put(end + 1, wait + "exec >&3 2>&4")

    def add_file(self, block, read):
        body = self.treat("\n".join(block.lines))
        name = f"{block.fence}.yaml"
        with open(name, "w") as f:
            f.write(body + "\n")
        self.n_commands += 1
        self.put(block.fence, f'exec >"$OUT/{block.fence}" 2>&1; ' + read.replace('"$1"', name) + "; exec >&3 2>&4")

    def unused(self):
        return [row[1] for row in self.rows if not row[-1]]


def masked(text, exact):
    """The lines, with what may differ from run to run replaced."""
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    if exact:
        return lines
    number = r"[-+]?\d[\d.,:]*(\s?(ns|us|ms|s|min|%|x|[KMG]i?B|W|J)\b)?%?"
    return [re.sub(r" +", " ", re.sub("-{2,}", "-", re.sub(number, "#", line))).strip() for line in lines]


def shows(page_lines, real_lines):
    """Whether the page's lines, in which "..." stands for any, are the real ones."""
    if not page_lines:
        return not real_lines
    if page_lines[0] == "...":
        return any(shows(page_lines[1:], real_lines[k:]) for k in range(len(real_lines) + 1))
    return bool(real_lines) and page_lines[0] == real_lines[0] and shows(page_lines[1:], real_lines[1:])


def lay_out(work):
    """The scratch folder: links to the sources, and the programs that a page takes as given."""
    home = os.path.join(work, "sources")
    os.makedirs(os.path.join(home, "build"))
    os.mkdir(os.path.join(home, "results"))
    for folder in ("", "results"):
        for name in os.listdir(os.path.join(SOURCE, folder)):
            if name not in ("build", ".git", "results"):
                os.symlink(os.path.join(SOURCE, folder, name), os.path.join(home, folder, name))
    os.symlink(BIN, os.path.join(home, "build", "bin"))
    os.symlink(os.path.dirname(os.environ["COTENANT_LIBRARY"]), os.path.join(home, "build", "lib"))
    for name in os.listdir(os.path.join(HERE, "programs")):
        shutil.copy(os.path.join(HERE, "programs", name), home)
    for like, names in (("serve", table.LIKE_SERVE), ("train.py", table.LIKE_TRAIN)):
        for name in names:
            shutil.copy(os.path.join(HERE, "programs", like), os.path.join(home, name))
    for name in table.KERNELS_RUN:
        os.symlink(os.path.join(BIN, "kernels-run"), os.path.join(home, name))
    for name, path in table.FILES.items():
        shutil.copy(os.path.join(SOURCE, path), os.path.join(home, name))
    return home


def environment(work):
    emu = os.environ["EMU"]
    machine = os.path.join(work, "gpu")
    os.mkdir(machine)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COTENANT", "CUDA_", "XDG_", "LD_"))}
    return kept | {
        "PATH": BIN + ":" + kept["PATH"], "HOME": work, "TMPDIR": work, "LC_ALL": "C", "OUT": os.path.join(work, "out"),
        "PYTHONDONTWRITEBYTECODE": "1", "SOURCE_DATE_EPOCH": "1700000000", "STAND_IN": "brief",
        "COTENANT_EMU_DIR": machine, "COTENANT_RUNTIME_DIR": machine + "/run", "COTENANT_GPUS": "1",
        "COTENANT_MPS_CONTROL": emu + "/nvidia-cuda-mps-control", "COTENANT_SHIM_DRIVER": emu + "/libcuda.so.1",
        "COTENANT_LIBRARY": os.environ["COTENANT_LIBRARY"], "LD_LIBRARY_PATH": emu}


PRELUDE = r"""
exec 3>&1 4>&2 </dev/null
shopt -s expand_aliases
until_there() {
	for _ in {1..600}; do
		cotenant ps --json 2>/dev/null | grep -q "\"name\": \"$1\"" && return
		sleep 0.1
	done
	echo "$1 did not come" >&2
	return 1
}
trap 'echo "$PAGE:$LINENO: status $?: $BASH_COMMAND" >&4' ERR
set -eE -o pipefail
export STAND_IN
source "$SCRIPT"
"""


def end_all(work):
    """Daemons, pools and programs of this machine, which are known by their environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"HOME={work}\0".encode() in f.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass


def run(page, work, script, home):
    env = environment(work)
    os.mkdir(env["OUT"])
    path = os.path.join(work, "script")
    with open(path, "w") as f:
        f.write("\n".join(script.lines) + "\n")
    log = os.path.join(work, "log")
    with open(log, "w") as out:
        try:
            status = subprocess.run(["bash", "-c", PRELUDE], cwd=home, env=env | {"PAGE": page, "SCRIPT": path},
                                    stdout=out, stderr=out, timeout=LIMIT_S).returncode
        except subprocess.TimeoutExpired:
            status = 124
    with open(log, errors="replace") as f:
        said = f.read()
    return status, said


def check_output(page, blocks, out, complain):
    last = None
    for block in blocks:
        if block.kind.startswith("output") and last is not None:
            with open(os.path.join(out, str(last.fence)), errors="replace") as f:
                real = f.read()
            exact = block.kind == "output exact"
            if not shows(masked("\n".join(block.lines), exact), masked(real, exact)):
                complain(block.fence, "the page shows another output; this was printed:\n" + real[-6000:])
        if block.kind == "sh":
            last = block


def write(page, blocks, out):
    """The page with what was printed. A block has as many lines as before, so those behind it stay where they are."""
    with open(os.path.join(SOURCE, page)) as f:
        lines = f.read().split("\n")
    last = None
    for block in blocks:
        if block.kind == "output exact" and last is not None:
            with open(os.path.join(out, str(last.fence)), errors="replace") as f:
                real = masked(f.read(), True)
            for k, line in enumerate(block.lines):
                if line != "..." and k < len(real):
                    lines[block.fence + k] = " " * block.indent + real[k]
        if block.kind == "sh":
            last = block
    with open(os.path.join(SOURCE, page), "w") as f:
        f.write("\n".join(lines))


def main():
    page = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    mistakes = []

    def complain(number, what):
        mistakes.append(f"{page}:{number}: {what}")

    blocks, n_lines = blocks_of(page, complain)
    work = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        home = lay_out(work)
        os.chdir(home)
        script = Script(page, n_lines)
        script.put(1, table.BEFORE.get(page, ""))
        for block in blocks:
            if block.is_file():
                read = READERS.get(block.lines[0].split()[1])
                if read:
                    script.add_file(block, read)
            elif block.kind == "sh":
                script.add(block)
        for pattern in script.unused():
            mistakes.append(f"{page}: the row '{pattern}' of tests/docs/table.py applies to nothing")
        status, said = run(page, work, script, home)
        if status:
            outputs = sorted(os.listdir(os.path.join(work, "out")), key=int)
            last = ""
            if outputs:
                with open(os.path.join(work, "out", outputs[-1]), errors="replace") as f:
                    last = f.read()[-3000:]
            mistakes.append(f"{said[-3000:]}{page}: ended with {status}; its last block printed:\n{last}")
        elif "--write" in sys.argv:
            write(page, blocks, os.path.join(work, "out"))
        else:
            check_output(page, blocks, os.path.join(work, "out"), complain)
        if os.environ.get("SHOW"):
            subprocess.run("cat log; tail -n +1 out/*", shell=True, cwd=work)
    finally:
        end_all(work)
        os.chdir("/")
        shutil.rmtree(work, ignore_errors=True)
    print("\n".join(mistakes) if mistakes else f"{page}: {script.n_commands} commands")
    sys.exit(bool(mistakes))


main()
