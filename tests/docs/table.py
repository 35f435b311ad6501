"""What the test of the documents does otherwise than the pages say, and why.

ROWS: page, pattern (of a whole command, with the lines that continue it), what is run in place of what it matches
(None: the command is not run), reason.
"""

# Programs and files that pages take as given: copies of programs/serve and programs/train.py; programs with kernels
# to look at; files of the sources.
LIKE_SERVE = ("simulate", "answer", "server", "solve", "search", "vectorAdd", "my_program", "llama-server")
LIKE_TRAIN = ("your_training.py", "your_service.py", "infer.py")
KERNELS_RUN = ("my_cuda_program",)
FILES = {"code.ptx": "kernels/ptx/bfs.ptx", "kernels.ptx": "kernels/ptx/bfs.ptx",
         "kernels.yaml": "scenarios/models/h200.yaml"}

# Of one page only: what runs before its commands.
BEFORE = {
    "docs/man/cotenant-explain.1.scd": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/man/cotenant-freeze.1.scd": "STAND_IN=long; cotenant run --name train -- ./serve & until_there train",
    "docs/man/cotenant-policy.1.scd": "STAND_IN=long; cotenant run --name train -- ./serve & until_there train",
    "docs/man/cotenant-record.1.scd": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/man/cotenant-scenario-from.1.scd":
        "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/man/cotenant-report.1.scd": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/man/cotenant-stats.1.scd": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/man/cotenant-set.1.scd": "STAND_IN=long; cotenant run --sms 64 --name train -- ./serve & cotenant run --quota 50% "
                                   "--name simulate -- ./simulate & cotenant run --p99 9ms --name api -- ./serve & "
                                   "until_there train; until_there simulate; until_there api",
    "docs/how-to/operate.md": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & cotenant run --name train -- "
                              "./serve & until_there serve; until_there train; STAND_IN=",
    "docs/metrics.md": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
    "docs/record.md": "STAND_IN=long; cotenant run --p99 5ms --name serve -- ./serve & until_there serve",
}

MINUTES = "a build takes minutes; "
GPU = "needs a GPU, and PyTorch or nvcc; "
PLAN = GPU + "the options are read, and what would run is shown"
# Two sizes of part instead of all sixteen, and programs that go on for ever and can be put on parts.
PROFILE = "sixteen sizes of part take a minute, and the programs are not here"
SERVICE = "-- $PROGS/service --seconds 600 --block-us 500 --blocks 8"
PROFILED = r"cotenant profile --parts 64,132 \1 "
TRAINING = "-- $PROGS/parts --seconds 600"

ROWS = [
    ("README.md", r"^git clone", None, "the sources are here"),
    ("README.md", r"^\./dev demo", None, MINUTES + "test_demo_live and test_demo_shares run what it shows"),
    ("README.md", r"cotenant doctor ", "cotenant doctor --emulate h200 ", "without a GPU it says so, and fails"),
    ("README.md", r"-- \./my_cuda_program", "-- ./my_cuda_program bfs",
     "it is kernels-run, which wants to know which kernel"),
    ("README.md", r"^sudo apt install", None, "needs root: scripts/try-package installs the packages in a clean Debian"),
    ("README.md", r"^sudo systemctl", None, "needs systemd: scripts/try-package starts the daemon by it"),
    ("README.md", r"^sudo apt purge", None, "needs root: scripts/try-package purges, and says what is left"),
    ("CONTRIBUTING.md", r"^cmake --preset asan", None, MINUTES + "./dev test does it"),
    ("CONTRIBUTING.md", r"^ctest --preset asan", None, MINUTES + "./dev test does it"),
    ("CONTRIBUTING.md", r"^COTENANT_FAULTS_WHOLE", None, "takes an hour; the CTest faults tries a part"),
    ("CONTRIBUTING.md", r"^scripts/try-package", None, "needs root, the network and minutes"),
    ("CONTRIBUTING.md", r"^cmake (-S|--build)", None, MINUTES + "./dev package does it"),
    ("CONTRIBUTING.md", r"^tar -C", None, "packs what the line above built"),
    ("docs/bench-live.md", r"^\./dev build", None, MINUTES + "the CUDA programs need nvcc"),
    ("docs/bench-live.md", r"^(python3 bench/live/run\.py --doctor)", r"\1 || true", "without a GPU it says what is missing"),
    ("docs/bench-live.md", r"^(python3 bench/live/run\.py (?!--list|--doctor)[^#\n]*)", r"\1 --list ", PLAN),
    ("docs/bench-live.md", r"^(python3 bench/live/targets\.py (?!--plan|--merge|--dry)[^#\n]*)", r"\1 --plan ", PLAN),
    ("docs/bench-live.md", r"^python3 bench/live/\S+ --(merge|dry-run)", None, "test_live_bench and test_live_targets do it"),
    ("docs/bench-live.md", r"^bench/live/laius-halves\.sh", None, "it needs two GPUs; test_laius_bench runs what it runs"),
    ("docs/bench-live.md", r"^bench/live/targets-halves\.sh", None,
     "it needs two GPUs; test_live_targets runs what it runs"),
    ("docs/bench-live.md", r"^(python3 bench/live/laius\.py (?!--plan|--merge|--dry)[^#\n]*)", r"\1 --plan ", PLAN),
    ("docs/bench-live.md",
     r"^(python3 bench/(live/checkpoint|parts/\w+)\.py [^#\n]*)", r"\1 --help ", GPU + "the program starts"),
    ("docs/plan.md", r"--jobs 50", "--jobs 4", "fifty take ten seconds on two free processors"),
    ("docs/consolidate.md", r"cotenant profile (.*) -- python3 train\.py", PROFILED + TRAINING, PROFILE),
    ("docs/consolidate.md", r"^bench/consolidate/run\.py --budget", None, "needs a GPU; the next line tries it without one"),
    ("docs/consolidate.md", r"--emulate --seconds 0\.03", "--emulate --seconds 0.03 --only BlackScholes/33*2 --out out",
     "one set instead of all, which take half a minute"),
    ("docs/containers.md", r"^(podman|docker) ", None, "needs an image and a GPU; test_live_cdi makes a container"),
    ("docs/cpu.md", r"--cpu \./my-kernels\.so", "--cpu kernels", "the provider that comes with cotenant"),
    ("docs/first-hour.md", r"^apt-get install", None, "needs root: scripts/walk does it in a clean Debian, and wrote the page"),
    ("docs/how-to/all-users.md", r"^sudo apt install", None, "needs root: scripts/try-package does it in a clean Debian"),
    ("docs/how-to/all-users.md", "@serving", "@root", "a group that is here"),
    ("docs/how-to/all-users.md", r"^systemd-analyze", None, "not on every machine; test_systemd_units does it"),
    ("docs/how-to/all-users.md", r"^(sudo systemctl|systemctl|journalctl) ",
     None, "needs systemd: scripts/try-package boots it"),
    ("docs/how-to/containers.md", r"^podman ", None, "needs podman, an image and a GPU; test_live_container makes a container"),
    ("docs/how-to/inspect.md", r"/usr/local/lib/\S+", "build/bin/kernels-run", "PyTorch is not here"),
    ("docs/how-to/llama-vllm.md", r"\./libggml-cuda\.so", "build/bin/kernels-run", "llama.cpp is not here"),
    ("docs/how-to/llama-vllm.md", r"^(bench/live/llama\.py) .*", r"\1 --help", "llama.cpp, PyTorch and a GPU are not here"),
    ("docs/how-to/operate.md", r"^(bench/live/\w+\.py) --out \S+", r"\1 --help",
     "needs a GPU and minutes; test_live_checks runs it on the emulated one"),
    ("docs/how-to/operate.md", r"^srun", None, "needs root and Slurm; integration_slurm does it where they are"),
    ("docs/how-to/operate.md", r"^systemd-analyze", None, "not on every machine; test_systemd_units does it"),
    ("docs/how-to/operate.md", r"^scripts/try-upgrade", None, MINUTES + "integration_upgrade plays it where it was built"),
    ("docs/how-to/operate.md", r"^(scripts/soak) --hours 2", r"\1 --help", "takes two hours; test_soak plays seconds of it"),
    ("docs/how-to/remove.md", r"^sudo (systemctl|apt)", None, "needs systemd and root: scripts/try-package purges"),
    ("docs/how-to/remove.md", r"^sudo cotenantd --stop-pools",
     "cotenantd --stop-pools", "the daemon of this machine is not root's"),
    ("docs/how-to/spreadsheet.md", r"python3 -m json\.tool \| head -n 20", "python3 -m json.tool >/dev/null",
     "head ends before the others"),
    ("docs/kernels.md", r"^kernels/build-ptx", None, "it writes into the sources; test_kernels_ptx makes the PTX and compares"),
    ("docs/kernels.md", r"all --size large --pass all", "bfs --pass all", "an interpreter needs minutes for all"),
    ("docs/kernels.md", r"--evictions 20", "--evictions 1", "an interpreter needs a minute for 20"),
    ("docs/kernels.md", r"all --size small (--pass batch --copies) 9 --repeat 25", r"nn \1 3 --repeat 2", "as above"),
    ("docs/kernels.md", r"^COTENANT_TRUTH_SEEDS", None, "takes hours; the CTest test_ptx_truth plays one seed"),
    ("docs/kernels.md", r"^(cmake|cp|python3)", None, MINUTES + "then it needs a GPU; test_kernels runs kernels-run"),
    ("docs/laius.md", r"cotenant profile --sizes 1,8,32 (.*) -- \./serve --batch {}",
     r"cotenant profile --parts 64,132 --requests 5 --sizes 1,8 \1 " + SERVICE.replace(" 8", " {}"), PROFILE),
    ("docs/laius.md", r"cotenant profile (.*) -- python3 train\.py", PROFILED + TRAINING, PROFILE),
    ("docs/man/cotenant-inspect.1.scd", r"\./train", "build/bin/kernels-run", "a program that has kernels"),
    ("docs/man/cotenant-inspect.1.scd", r"/usr/local/lib/\S+", "build/bin/kernels-run", "PyTorch is not here"),
    ("docs/man/cotenant-profile.1.scd", r"--sizes 1,8,32 --parts 16,32,64,132 -- python3 infer\.py --batch {}",
     "--parts 64,132 --requests 5 --sizes 1,8 -o infer.knowledge " + SERVICE.replace(" 8", " {}"), PROFILE),
    ("docs/man/cotenant-profile.1.scd", r"cotenant profile (.*) -- \./serve", PROFILED + "--requests 5 " + SERVICE, PROFILE),
    ("docs/man/cotenant-profile.1.scd", r"cotenant profile (.*) -- python3 train\.py", PROFILED + TRAINING, PROFILE),
    ("docs/man/cotenant-ptx.1.scd", r"^nvcc ", None, "needs NVIDIA's compiler; code.ptx is one of ours"),
    ("docs/man/cotenant-freeze.1.scd", r"sleep 60", "sleep 0.1", "a minute"),
    ("docs/man/cotenantd.conf.5.scd", "@serving", "@root", "a group that is here"),
    ("docs/models.md", r"^bench_contention", None, "needs a GPU"),
    ("docs/models.md", r"cotenant model check contention\.jsonl",
     "zcat results/h200/2026-11-22/contention/contention.jsonl.gz | cotenant model check -", "what it measured on an H200"),
    ("docs/models.md", r"cotenant model check --live -$", None, "takes minutes; test_model_live does it"),
    ("docs/man/cotenant-model.1.scd", r"cotenant model check --live -$", None, "takes minutes; test_model_live does it"),
    ("docs/preload.md", r"/usr/lib/cotenant/", "build/lib/", "it is not installed here"),
    ("docs/preload.md", r"/run/cotenant/", "$COTENANT_RUNTIME_DIR/", "a daemon of this machine, not of root"),
    ("docs/slurm.md", r"^(sudo |srun |sbatch |packaging/slurm)", None,
     "needs root and Slurm; integration_slurm does it where they are"),
    ("docs/smguard.md", r"^\./dev build", None, MINUTES + "what it builds is what the tests run"),
    ("docs/smguard.md", r"said\.sh build/bin", "said.sh build/bin 1", "a second each instead of 20"),
    ("docs/smguard.md", r"^bench/smguard/run\.py --budget", None, GPU + "test_smguard_bench runs it on the emulated one"),
    ("docs/smguard.md", r"^bench/smguard/run\.py --emulate", None, "test_smguard_bench does it"),
    ("docs/smguard.md", r"^(cmake|tar|bench/smguard/run\.py --bin)", None, MINUTES + "then it needs a GPU"),
    ("examples/jax/README.md", r"examples/jax/train\.py", "train.py", "needs JAX"),
    ("examples/pytorch/README.md", r"^examples/pytorch/run\.sh", None,
     "needs PyTorch; test_example_pytorch runs it with stand-ins"),
]
