#!/usr/bin/env python3
"""A program of the checks plans.py, gpus.py and gangs.py: kernels that fill the GPU, a chain of multiply-adds in each
thread; or of few blocks; or copies that fill the GPU's memory.

As a service it answers requests that come at random times, each one kernel and the wait for it, and marks them; as batch
work it has two kernels in the queue all the time. SIGUSR1: what follows is a new window. At its end (SIGTERM, or after
--life) it writes one line of JSON for each window; with --parts a service's line has every request and where its time went.
The driver is libcuda.so.1, wherever that is found: no CUDA runtime.
"""
import argparse
import ctypes
import json
import os
import random
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
import cotenant  # noqa: E402

# 1024 threads a block: two blocks fill an SM of 2048 threads, and each slows the other.
THREADS = 1024
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry chain(.param .u64 out, .param .u32 n)
{
	.reg .pred %p;
	.reg .f32 %x;
	.reg .b32 %i, %n, %b, %t;
	.reg .b64 %at, %off;
	ld.param.u64 %at, [out];
	ld.param.u32 %n, [n];
	mov.u32 %b, %ctaid.x;
	mov.u32 %t, %tid.x;
	cvt.rn.f32.u32 %x, %t;
	mov.u32 %i, 0;
again:
	fma.rn.f32 %x, %x, 0f3F7FBE77, 0f3A83126F;
	fma.rn.f32 %x, %x, 0f3F7FBE77, 0f3A83126F;
	fma.rn.f32 %x, %x, 0f3F7FBE77, 0f3A83126F;
	fma.rn.f32 %x, %x, 0f3F7FBE77, 0f3A83126F;
	add.u32 %i, %i, 4;
	setp.lt.u32 %p, %i, %n;
	@%p bra again;
	mul.wide.u32 %off, %b, 4;
	add.u64 %at, %at, %off;
	setp.eq.u32 %p, %t, 0;
	@%p st.global.f32 [%at], %x;
	ret;
}
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %i, %n, %b, %t, %d, %e, %at, %stride;
	.reg .f32 %x<16>;
	.reg .b64 %from, %to, %a, %o<4>;
	ld.param.u64 %from, [from];
	ld.param.u64 %to, [to];
	ld.param.u32 %n, [n];
	mov.u32 %b, %ctaid.x;
	mov.u32 %d, %ntid.x;
	mov.u32 %t, %tid.x;
	mad.lo.u32 %at, %b, %d, %t;
	mov.u32 %b, %nctaid.x;
	mul.lo.u32 %stride, %b, %d;
	mov.u32 %i, 0;
again:
	and.b32 %e, %at, WRAP;
	mul.wide.u32 %o0, %e, 16;
	add.u32 %at, %at, %stride;
	add.u64 %a, %from, %o0;
	ld.global.v4.f32 {%x0, %x1, %x2, %x3}, [%a];
	and.b32 %e, %at, WRAP;
	mul.wide.u32 %o1, %e, 16;
	add.u32 %at, %at, %stride;
	add.u64 %a, %from, %o1;
	ld.global.v4.f32 {%x4, %x5, %x6, %x7}, [%a];
	and.b32 %e, %at, WRAP;
	mul.wide.u32 %o2, %e, 16;
	add.u32 %at, %at, %stride;
	add.u64 %a, %from, %o2;
	ld.global.v4.f32 {%x8, %x9, %x10, %x11}, [%a];
	and.b32 %e, %at, WRAP;
	mul.wide.u32 %o3, %e, 16;
	add.u32 %at, %at, %stride;
	add.u64 %a, %from, %o3;
	ld.global.v4.f32 {%x12, %x13, %x14, %x15}, [%a];
	add.u64 %a, %to, %o0;
	st.global.v4.f32 [%a], {%x0, %x1, %x2, %x3};
	add.u64 %a, %to, %o1;
	st.global.v4.f32 [%a], {%x4, %x5, %x6, %x7};
	add.u64 %a, %to, %o2;
	st.global.v4.f32 [%a], {%x8, %x9, %x10, %x11};
	add.u64 %a, %to, %o3;
	st.global.v4.f32 [%a], {%x12, %x13, %x14, %x15};
	add.u32 %i, %i, 4;
	setp.lt.u32 %p, %i, %n;
	@%p bra again;
	ret;
}
"""
# What copies read, and what they write: each some times what the caches hold. A step of a thread is 16 bytes of each.
COPIED, STEP = 256 << 20, 16
PTX = PTX.replace(b"WRAP", b"%d" % (COPIED // STEP - 1))
MULTIPROCESSORS, MEMORY_KHZ, MEMORY_BITS, PRIMARY_FLAGS, NO_TIME = 16, 36, 37, 0, 2


class Gpu:
    """The one that CUDA_VISIBLE_DEVICES names, or the first."""

    def __init__(self, emulated, copies=False, blocks=0):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context, module, self.kernel, self.stream = (ctypes.c_void_p() for _ in range(4))
        self.out, self.source = ctypes.c_uint64(), ctypes.c_uint64()
        self.copies, self.blocks = copies, blocks
        self.call("cuInit", 0)
        # The one that the CUDA runtime uses.
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), PRIMARY_FLAGS)
        self.call("cuCtxSetCurrent", context)
        self.emulated, self.sms = emulated, self.attribute(MULTIPROCESSORS)
        self.call("cuModuleLoadData", ctypes.byref(module), b"cotenant emulated kernels 1" if emulated else PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module,
                  b"spin" if emulated else b"copy" if copies else b"chain")
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        copied = COPIED if copies and not emulated else 1 << 20
        for memory in (self.out, self.source):
            self.call("cuMemAlloc_v2", ctypes.byref(memory), copied)
        self.events = [self.event(NO_TIME) for _ in range(2)]

    def call(self, name, *arguments):
        rc = getattr(self.cuda, name)(*arguments)
        if rc:
            sys.exit(f"{name} failed with {rc}")

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value

    def event(self, flags):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), flags)
        return event

    def launch(self, waves, n):
        """n: steps of each thread; of the emulated GPU nanoseconds of a block."""
        if self.emulated:
            for sms, ns in self.emulated_blocks(waves, n):
                self.put(sms * 8, 256, ctypes.c_uint64(ns), ctypes.c_uint64(0))
            return
        blocks = self.blocks or self.sms * 2 * waves
        if self.copies:
            self.put(blocks, THREADS, self.source, self.out, ctypes.c_uint32(n))
        else:
            self.put(blocks, THREADS, self.out, ctypes.c_uint32(n))

    def emulated_blocks(self, waves, ns):
        """(SMs that are filled, for so long). There is no memory to wait for: copies use a third of the SMs most of the
        time, so that they, too, gain little by many SMs and are slow on few."""
        if self.copies:
            return (self.sms // 3, ns * 7 // 8), (self.sms, ns // 8)
        return ((self.blocks or self.sms * waves, ns),)

    def put(self, blocks, threads, *value):
        parameters = (ctypes.c_void_p * len(value))(*map(ctypes.addressof, value))
        self.call("cuLaunchKernel", self.kernel, blocks, 1, 1, threads, 1, 1, 0, self.stream, parameters, None)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def steps_per_us(self):
        """Of one wave of blocks: the fastest of ten kernels that take some ms."""
        if self.emulated:
            return 1000.0
        n, best = 400_000, float("inf")
        for _ in range(12):
            begin = time.monotonic_ns()
            self.launch(1, n)
            self.wait()
            best = min(best, time.monotonic_ns() - begin)
        return n / (best / 1e3)

    def copy_steps_per_us(self):
        """As many as the memory's clock and width allow, so that a kernel is the same whoever shares the GPU meanwhile.
        It takes a little longer."""
        if self.emulated:
            return 1000.0
        bytes_per_us = 2 * self.attribute(MEMORY_KHZ) / 1e3 * self.attribute(MEMORY_BITS) / 8
        return bytes_per_us / ((self.blocks or self.sms * 2) * THREADS * 2 * STEP)


class Windows:
    """What was done, and when."""

    def __init__(self):
        self.all, self.stopped = [], False
        self.begin()
        signal.signal(signal.SIGUSR1, lambda *_: self.begin())
        signal.signal(signal.SIGTERM, self.stop)

    def begin(self):
        self.all.append({"began": time.monotonic_ns(), "n": 0, "responses_us": [], "requests": []})

    def stop(self, *_):
        self.stopped = True

    def write(self):
        ends = [w["began"] for w in self.all[1:]] + [time.monotonic_ns()]
        for w, end in zip(self.all, ends):
            times, seconds = sorted(w["responses_us"]), (end - w["began"]) / 1e9
            line = {"began_s": w["began"] / 1e9,
                    "seconds": round(seconds, 3), "n": w["n"], "per_s": round(w["n"] / seconds, 3)}
            if times:
                # Nearest rank, as everywhere.
                line.update({f"p{p}_us": round(times[-(-len(times) * p // 100) - 1], 1) for p in (50, 99)})
            if w["requests"]:
                line["requests"] = w["requests"]
            print(json.dumps(line), flush=True)


class Parts:
    """Where a request's time went: PARTS, the last two in it. Times are us, `at` since the window's begin."""

    NAMES = ("at", "response", "queued", "woken", "gpu", "waited")

    def __init__(self, gpu):
        self.gpu, self.events = gpu, [gpu.event(0) for _ in range(2)]
        self.waits = open("/proc/thread-self/schedstat", "rb", buffering=0)  # noqa: SIM115 (as long as we are)
        self.last_end = self.waited = self.begun = 0

    def read_waited(self):
        """For how long this thread has waited for a processor, in ns; what the host stole of it is not in there."""
        self.waits.seek(0)
        return int(self.waits.read(100).split()[1])

    def begin(self):
        self.begun, self.waited = time.monotonic_ns(), self.read_waited()
        self.gpu.call("cuEventRecord", self.events[0], self.gpu.stream)

    def launched(self):
        self.gpu.call("cuEventRecord", self.events[1], self.gpu.stream)

    def end(self, arrival, window):
        """`queued`: behind the request before; `woken`: from then, or from its arrival, until it was begun."""
        now, ms = time.monotonic_ns(), ctypes.c_float()
        free = max(arrival, self.last_end)
        self.last_end = now
        self.gpu.call("cuEventElapsedTime", ctypes.byref(ms), *self.events)
        return [round((arrival - window["began"]) / 1e3), *(round(ns / 1e3, 1) for ns in (
            now - arrival, free - arrival, self.begun - free)), round(ms.value * 1e3, 1),
            round((self.read_waited() - self.waited) / 1e3, 1)]


def serve(gpu, a, steps, windows, end):
    rng, parts = random.Random(a.seed), Parts(gpu) if a.parts else None
    arrival = time.monotonic_ns()
    while not windows.stopped:
        arrival += int(rng.expovariate(a.per_s) * 1e9) if a.per_s else 0
        while (left := arrival - time.monotonic_ns()) > 0 and not windows.stopped:
            time.sleep(min(left / 1e9, 0.05))
        if windows.stopped or time.monotonic() > end:
            return
        arrival = arrival if a.per_s else time.monotonic_ns()
        if parts:
            parts.begin()
        with cotenant.request(arrival):
            gpu.launch(a.waves, steps)
            if parts:
                parts.launched()
            gpu.wait()
        now, window = time.monotonic_ns(), windows.all[-1]
        row = parts.end(arrival, window) if parts else None
        if arrival >= window["began"]:
            window["n"] += 1
            window["responses_us"].append((now - arrival) / 1e3)
            if parts:
                window["requests"].append(row)


def work(gpu, a, steps, windows, end):
    n = 0
    while not windows.stopped and time.monotonic() < end:
        if n >= 2:
            gpu.call("cuEventSynchronize", gpu.events[n % 2])
            windows.all[-1]["n"] += 1
        gpu.launch(a.waves, steps)
        gpu.call("cuEventRecord", gpu.events[n % 2], gpu.stream)
        n += 1
    gpu.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("what", choices=("service", "batch", "calibrate"))
    p.add_argument("--us", type=float, default=1000, help="a kernel's time alone on the GPU (default: 1000)")
    p.add_argument("--waves", type=int, default=1, help="so many times the blocks that fit at once (default: 1)")
    p.add_argument("--blocks", type=int, default=0,
                   help="only so many, of which two fill an SM; alone on one each is done sooner")
    p.add_argument("--copies", action="store_true", help="kernels that copy memory")
    p.add_argument("--per-s", type=float, default=0, help="requests a second; 0: each as soon as the last is answered")
    p.add_argument("--steps-per-us", type=float, help="as `calibrate` says; default: measured at the start")
    p.add_argument("--parts", action="store_true", help="each request of a service, and where its time went")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--life", type=float, default=600, metavar="SECONDS")
    p.add_argument("--emulated", action="store_true",
                   help="the emulated GPU's kernel instead, which lasts as long as told")
    a = p.parse_args()
    gpu = Gpu(a.emulated, a.copies, a.blocks)
    per_us = gpu.copy_steps_per_us() if a.copies else a.steps_per_us or gpu.steps_per_us()
    if a.what == "calibrate":
        print(json.dumps({"steps_per_us": per_us, "sms": gpu.sms}))
        return 0
    steps = max(4, int(per_us * a.us / a.waves))
    gpu.launch(a.waves, steps)
    gpu.wait()
    windows = Windows()
    print("ready", flush=True)
    (serve if a.what == "service" else work)(gpu, a, steps, windows, time.monotonic() + a.life)
    windows.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
