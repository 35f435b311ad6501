"""A project of one file: the changes that its test sees, cannot see, and does not see must be told apart."""

import argparse
import pathlib
import shutil
import tempfile

import bed

HERE = pathlib.Path(__file__).resolve().parent

FILES = {
    "CMakePresets.json": """{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
"binaryDir": "${sourceDir}/build/release", "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}}]}
""",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(demo LANGUAGES C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
enable_testing()
add_library(demo STATIC src/demo/demo.c)
add_executable(test_demo tests/test_demo.c)
target_link_libraries(test_demo PRIVATE demo)
add_test(NAME test_demo COMMAND test_demo)
set_tests_properties(test_demo PROPERTIES LABELS unit)
""",
    "src/demo/demo.c": """int demo_seen(int a, int b);
int demo_unseen(int a);
int demo_spins(volatile int n);
void log_info(const char *format, int value);

enum { FIRST = 1, SECOND = 2 };

int demo_seen(int a, int b)
{
	log_info("a sum of %d", 7);
	return a + b;
}

int demo_unseen(int a)
{
	return a * 1 - SECOND;
}

int demo_spins(volatile int n)
{
	while (n > 0)
		n -= 1;
	return n;
}
""",
    "tests/test_demo.c": """int demo_seen(int a, int b);
int demo_spins(volatile int n);
void log_info(const char *format, int value);

void log_info(const char *format, int value)
{
	(void)format;
	(void)value;
}

int main(void)
{
	return demo_seen(2, 3) != 5 || demo_spins(4) != 0;
}
""",
    "tests/mutants.accepted": """# One that makes no difference.
src/demo/demo.c
while (n > 0)
while (n >= 1)
The same for whole numbers.

src/demo/demo.c
return a * 1 - SECOND;
return a * 2 - SECOND;
Nobody calls it.
""",
}

EXPECTED = {
    ("return a + b;", "return a - b;"): "killed",
    ("return a + b;", "return 0;"): "killed",
    ("n -= 1;", "n += 1;"): "killed",
    ("return a * 1 - SECOND;", "return a / 1 - SECOND;"): "same",
    ("return a * 1 - SECOND;", "return a * 1 + SECOND;"): "alive",
    ("return a * 1 - SECOND;", "return a * 2 - SECOND;"): "accepted",
}


def run(make_run, root, printed):
    args = argparse.Namespace(paths=["src/demo"], seed="1", count=100, since=None, again=False, quick=False)
    one = make_run(root, args, printed.append)
    one.run()
    return {(m.before, m.after): (v, by) for m, v, by in one.verdicts}


def main(make_run):
    bed.CPU_S = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "scripts").mkdir()
        shutil.copy(HERE.parent / "list-files", root / "scripts/list-files")
        printed = []
        found = run(make_run, root, printed)
        for change, verdict in EXPECTED.items():
            assert found.get(change, ("none",))[0] == verdict, (change, verdict, found.get(change), printed)
        assert not any("log_info" in before or "FIRST" in before for before, _ in found), found
        assert (root / "src/demo/demo.c").read_text() == FILES["src/demo/demo.c"]
        results = next((root / "build/mutate").glob("results-*"))
        lines = results.read_text()
        assert run(make_run, root, printed) == found and results.read_text() == lines, "it does not resume"
    print("mutate: self-test passed")
    return 0
