"""What this machine is, and what of it is missing for which cells."""
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from . import process

NEED_MPS = ("mps", "mps70", "mps50", "mps30", "mps-shares", "pools", "pools-solo", "parts", "slo",
            "slo-solo", "smqos")
NEED_COTENANT = ("pools", "pools-solo", "rotate", "parts", "cost", "alone", "slo", "slo-solo", "smqos")
QUERY = "name,driver_version,memory.total,compute_mode,mig.mode.current,clocks.sm"


def _output(argv, env=None, timeout=60):
    try:
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=timeout,
                              check=False)
        return done.returncode, (done.stdout + done.stderr).strip()
    except (OSError, subprocess.TimeoutExpired) as e:
        return -1, str(e)


def _torch(python):
    code = ("import json, torch; d = {'torch': torch.__version__, 'torch_cuda': "
            "torch.version.cuda, 'torch_sees_gpu': torch.cuda.is_available(), "
            "'cudnn': torch.backends.cudnn.version()}; print(json.dumps(d))")
    rc, out = _output([python, "-c", code], timeout=120)
    try:
        return json.loads(out.splitlines()[-1]) if rc == 0 else {"torch_error": out[-200:]}
    except (ValueError, IndexError):
        return {"torch_error": out[-200:]}


def facts(tools, options):
    out = {"date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "command": options.command,
           "commit": options.commit or commit(tools.root), "python": platform.python_version(),
           "kernel": platform.release(), "cpus": os.cpu_count(), "fake": tools.fake}
    if tools.fake:
        return out
    gpu = os.environ.get(process.VISIBLE, "")
    rc, text = _output(["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader", "--id=" + (gpu or "0")])
    if rc == 0 and text:
        values = [v.strip() for v in text.splitlines()[0].split(",")]
        out.update(zip(("gpu", "driver", "memory", "compute_mode", "mig", "clock"), values))
        out["visible"] = gpu or None
    rc, text = _output(["nvidia-smi", "--list-gpus"])
    out["gpus"] = len(text.splitlines()) if rc == 0 else None
    rc, text = _output(["nvidia-smi"])
    if rc == 0:
        out["cuda"] = next((line.split("CUDA Version:")[1].split("|")[0].strip()
                            for line in text.splitlines() if "CUDA Version:" in line), None)
    rc, text = _output(["nvcc", "--version"])
    out["nvcc"] = text.splitlines()[-1] if rc == 0 and text else None
    out.update(_torch(options.python) if options.torch else {})
    for name in ("torchvision", "transformers"):
        out[name] = importlib.util.find_spec(name) is not None \
            if options.python == sys.executable else None
    rc, text = _output([*tools.cotenant, "--version"], tools.environment("facts"))
    out["cotenant"] = text.splitlines()[0] if rc == 0 and text else None
    return out


def commit(root):
    rc, text = _output(["git", "-c", "safe.directory=*", "-C", root, "rev-parse", "--short",
                        "HEAD"])
    return text if rc == 0 and len(text) < 20 else None


def uses_c(cell):
    """Whether one of the C/CUDA programs takes part."""
    return cell.group == "cost" or any(p.tool != "tenants" for _, p in cell.tenants())


class Check:
    """Findings: ok, or what is missing and which cells need it."""

    def __init__(self):
        self.lines, self.missing = [], set()

    def add(self, good, what, need=None):
        self.lines.append(("ok  " if good else "MISS" if need else "warn") + "  " + what)
        if not good and need:
            self.missing.add(need)

    def allows(self, cell):
        """Why a cell cannot be run here, or None."""
        if "gpu" in self.missing:
            return "no GPU"
        if uses_c(cell) and "programs" in self.missing:
            return "the C/CUDA programs are missing"
        if cell.torch and "torch" in self.missing:
            return "no PyTorch"
        if cell.way in NEED_MPS and "mps" in self.missing:
            return "no MPS"
        if cell.way in NEED_COTENANT and "cotenant" in self.missing:
            return "cotenant is not built"
        return None


def build(live):
    """Compiles the C/CUDA programs where nvcc is there and they are missing or old."""
    if shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc"):
        rc, text = _output(["make", "-s", "-C", live], timeout=300)
        return None if rc == 0 else text[-500:]
    return None


def preflight(tools, live, machine, options, cells):
    check = Check()
    if tools.fake:
        check.add(True, "dry run: stand-ins for programs and GPU")
    else:
        _check_gpu(check, machine)
        error = build(live) if options.doctor or any(map(uses_c, cells)) else None
        if error:
            check.add(False, f"the C/CUDA programs do not compile: {error}")
        for name in ("req", "hog", "cost"):
            path = tools.programs[name][0]
            check.add(os.access(path, os.X_OK), f"{name}: {path}", "programs")
        if options.torch:
            _check_torch(check, machine)
        found = shutil.which(tools.mps[0])
        check.add(bool(found), f"MPS control program: {found or tools.mps[0] + ' not found'}",
                  "mps")
        check.add(not _mps_runs(), "no MPS control daemon runs for all users"
                  if not _mps_runs() else "an MPS control daemon runs already: programs of the way "
                  "'timeslice' may join it; stop it first")
    if not tools.fake or tools.bin != os.path.join(tools.root, "build", "bin"):
        _check_cotenant(check, tools)
    _check_paths(check)
    cpus = os.cpu_count() or 1
    check.add(cpus >= 6 or tools.fake, f"{cpus} CPUs" + ("" if cpus >= 6 else
              ": too few for programs that wait by spinning; latencies will be noisy"))
    return check


def _check_gpu(check, machine):
    check.add(bool(machine.get("gpu")), f"GPU: {machine.get('gpu')}, driver "
              f"{machine.get('driver')}, {machine.get('gpus', 0)} of them", "gpu")
    if machine.get("gpu"):
        mode = machine.get("compute_mode", "")
        check.add(mode == "Default", f"compute mode {mode}" + ("" if mode == "Default" else
                  ": several programs may not be able to share; it is left as it is"))
    rc, text = _output(["nvidia-smi", "--query-compute-apps=pid,name", "--format=csv,noheader"])
    if rc == 0:
        check.add(not text, "no other program uses the GPU" if not text else
                  f"others use the GPU: {text[:200]}")


def _check_torch(check, machine):
    check.add(bool(machine.get("torch_sees_gpu")), f"PyTorch {machine.get('torch')} (CUDA "
              f"{machine.get('torch_cuda')}), sees the GPU: {machine.get('torch_sees_gpu')} "
              f"{machine.get('torch_error', '')}", "torch")
    for name in ("torchvision", "transformers"):
        check.add(bool(machine.get(name)), f"{name}: " + (
            "there" if machine.get(name) else "not there; our own model of the same size is used"))


def _check_cotenant(check, tools):
    env = tools.environment("check")
    for argv in (tools.cotenant, tools.cotenantd):
        there = os.access(argv[0], os.X_OK)
        rc, text = _output(["ldd", argv[0]], env) if there else (0, "")
        lost = [line.split()[0] for line in text.splitlines() if "not found" in line]
        what = argv[0]
        if not there:
            what += ": not there; ./dev build makes it"
        elif lost:
            what += (f": needs {', '.join(lost)}; on the machine that built it run "
                     f"'make -C bench/live deps' and bring {tools.deps}")
        check.add(there and not lost, what, "cotenant")
    check.add(os.path.exists(tools.library), f"library: {tools.library}", "cotenant")


def _check_paths(check):
    folder = tempfile.gettempdir()
    long = len(os.path.join(folder, "cl-12345678", "run", "gpu0-latency", "pipe",
                            "control_privileged")) > 100
    check.add(not long and os.access(folder, os.W_OK), f"temporary folder: {folder}" + (
        ": too long a path for sockets; set TMPDIR to a shorter one" if long else ""))


def _mps_runs():
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or \
        os.path.join(tempfile.gettempdir(), "nvidia-mps")
    return os.path.exists(os.path.join(folder, "control"))


def doctor(tools, mark):
    """What cotenant says of this machine."""
    folder = tempfile.mkdtemp(prefix="cl-")
    env = {**tools.environment(mark), "COTENANT_RUNTIME_DIR": os.path.join(folder, "run")}
    rc, text = _output([*tools.cotenant, "doctor"], env, 60)
    process.sweep(mark)
    shutil.rmtree(folder, ignore_errors=True)
    return rc, text
