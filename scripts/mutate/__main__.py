"""Small changes to the code that the tests should notice: `./dev mutate --help`."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import bed
import source

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTED = ("killed", "alive", "accepted")


def arguments():
    p = argparse.ArgumentParser(prog="./dev mutate", description="""Changes the C files of a folder, one small
change at a time, and says which changes no test notices. The same seed gives the same changes; a run that was
interrupted goes on where it stopped. Changes that alter nothing stand in tests/mutants.accepted.""")
    p.add_argument("paths", nargs="*", metavar="FOLDER|FILE", help="such as src/sim; a folder without those in it")
    p.add_argument("--seed", default="1", help="which changes (1)")
    p.add_argument("--count", type=int, default=60, help="how many changes with a verdict (60)")
    p.add_argument("--since", metavar="REF", help="only on lines that changed since this commit")
    p.add_argument("--again", action="store_true",
                   help="after new tests: only what lived before, and what is in files that changed")
    p.add_argument("--quick", action="store_true", help="without integration tests")
    p.add_argument("--list", action="store_true", help="print the changes and stop")
    p.add_argument("--self-test", action="store_true", help="check this program itself")
    args = p.parse_args()
    if not args.paths and not args.since and not args.self_test:
        p.error("expected a folder, a file or --since")
    return args


def say(text):
    print(text, flush=True)


def changed_lines(root, ref):
    """{path: lines} that differ from a commit."""
    lines, path = {}, None
    diff = subprocess.run(["git", "diff", "-U0", ref, "--", "src"], cwd=root, capture_output=True, text=True,
                          check=True).stdout
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line):
            begin, n = int(match.group(1)), int(match.group(2) or 1)
            lines.setdefault(path, set()).update(range(begin, begin + n))
    return lines


def chosen_files(root, paths, since):
    files = []
    for path in paths or sorted(since):
        full = root / path if (root / path).exists() else root / "src" / path
        if not full.exists():
            raise SystemExit(f'mutate: there is no "{path}"; expected a folder or file such as src/sim')
        files += sorted(full.glob("*.c")) if full.is_dir() else [full] * (full.suffix == ".c")
    return [str(f.resolve().relative_to(root)) for f in files]


def accepted_changes(root):
    """{(path, before, after)}. Entries of four lines: path, line before, line after, why."""
    file, found = root / "tests/mutants.accepted", set()
    lines = [l.strip() for l in file.read_text().splitlines()] if file.exists() else []
    for block in "\n".join(l for l in lines if not l.startswith("#")).split("\n\n"):
        entry = block.strip().split("\n")
        if len(entry) >= 4:
            found.add((entry[0], source.one_line(entry[1]), source.one_line(entry[2])))
        elif entry != [""]:
            raise SystemExit(f"mutate: {file}: expected path, before, after and why, got: {entry[0]}")
    return found


class Results:
    """Verdicts, appended to a file as they come. They hold for the tree that they were found with."""

    def __init__(self, file, tree, again):
        self.file, self.tree, self.again, self.known = file, tree, again, {}
        if file.exists():
            for line in file.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry

    def find(self, key, content):
        entry = self.known.get(key)
        kept = entry and (entry["tree"] == self.tree or (
            self.again and entry["file"] == content and entry["verdict"] != "alive"))
        return (entry["verdict"], entry["by"]) if kept else None

    def add(self, key, content, verdict, by):
        entry = {"key": key, "tree": self.tree, "file": content, "verdict": verdict, "by": by}
        self.known[key] = entry
        with open(self.file, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")


def judge(place, stages, text, m):
    """(verdict, by) of one change."""
    place.write(m.path, source.apply(text, m))
    try:
        if not place.compiles(m.path):
            return "unbuilt", ""
        if place.same_objects(m.path):
            return "same", ""
        killer = place.killer(stages, pathlib.Path(m.path).stem)
        return ("killed", killer) if killer else ("alive", "")
    finally:
        place.restore(m.path)


class Run:
    def __init__(self, root, args, out=say):
        self.root, self.args, self.say = root, args, out
        self.since = changed_lines(root, args.since) if args.since else None
        self.files = chosen_files(root, args.paths, self.since)
        self.accepted = accepted_changes(root)
        self.texts = {f: (root / f).read_text() for f in self.files}
        self.verdicts = []

    def candidates(self):
        found = [m for f in self.files for m in source.mutants(f, self.texts[f])
                 if self.since is None or m.line in self.since.get(f, ())]
        return list(source.in_order(found, self.args.seed))

    def verdict_of(self, place, stages, results, m):
        if (m.path, m.before, m.after) in self.accepted:
            return "accepted", ""
        key = bed.digest(m.path, m.before, m.after, self.texts[m.path].count("\n", 0, m.begin), m.begin)
        content = bed.digest(self.texts[m.path])
        known = results.find(key, content)
        if known is None:
            known = judge(place, stages(os.path.dirname(m.path)), self.texts[m.path], m)
            results.add(key, content, *known)
        return known

    def run(self):
        place = bed.Bed(self.root, self.say)
        place.prepare()
        plans = {}

        def stages(folder):
            if folder not in plans:
                plans[folder] = place.plan_for(folder, self.args.quick)
            return plans[folder]

        name = "-".join([p.strip("/").replace("/", "_") for p in self.args.paths] or ["since"])
        if len(name) > 100:
            name = bed.digest(name)
        results = Results(place.home / f"results-{name}-{self.args.seed}", place.tree, self.args.again)
        for m in self.candidates():
            if sum(v in COUNTED for _, v, _ in self.verdicts) >= self.args.count:
                break
            begin = time.monotonic()
            verdict, by = self.verdict_of(place, stages, results, m)
            self.verdicts.append((m, verdict, by))
            if verdict in COUNTED:
                n = sum(v in COUNTED for _, v, _ in self.verdicts)
                self.say(f"[{n}/{self.args.count}] {m.path}:{m.line} {m.kind}: {verdict}"
                         f"{' by ' + by if by else ''} ({time.monotonic() - begin:.1f} s)")
                if verdict == "alive":
                    self.say(f"    {m.before}\n    {m.after}")
        self.report()

    def report(self):
        folders = sorted({os.path.dirname(m.path) for m, _, _ in self.verdicts})
        self.say(f"\n{'folder':20} {'n':>4} {'killed':>7} {'alive':>6} {'accepted':>9} {'score':>6}"
                 f"   (not counted: {self.total('same')} with the same object file,"
                 f" {self.total('unbuilt')} that do not compile)")
        for folder in folders:
            killed, alive, accepted = (self.total(v, folder) for v in COUNTED)
            score = f"{100 * killed / (killed + alive):.0f} %" if killed + alive else "-"
            self.say(f"{folder:20} {killed + alive + accepted:4} {killed:7} {alive:6} {accepted:9} {score:>6}")
        alive = [m for m, v, _ in self.verdicts if v == "alive"]
        if alive:
            self.say("\nNo test notices:")
        for m in sorted(alive, key=lambda m: (m.path, m.line)):
            self.say(f"\n{m.path}:{m.line}\n{m.before}\n{m.after}")

    def total(self, verdict, folder=None):
        return sum(v == verdict and folder in (None, os.path.dirname(m.path)) for m, v, _ in self.verdicts)


def main():
    args = arguments()
    os.nice(10)
    if args.self_test:
        import selftest
        return selftest.main(Run)
    run = Run(ROOT, args)
    if args.list:
        for m in run.candidates()[:args.count]:
            say(f"{m.path}:{m.line} {m.kind}\n    {m.before}\n    {m.after}")
        return 0
    run.run()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("mutate: interrupted; the same command goes on from here")
