#!/bin/sh
# Workers of a batch program that has a part of the GPU are together on whole SMs, as the program's blocks see
# them: on as many SMs as it has CapSMs. Rewritten kernels, and one that is its own workers.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"

# shows LINES FILE LINE OPTION... -- PROGRAM...: the program says just that, in so many lines.
shows() {
	lines=$1 file=$work/$2 line=$3
	shift 3
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --name it "$@" >"$file" 2>&1
	program=$pid
	until_true 30 has_lines || fail "$*: $(cat "$file")"
	kill "$program"
	until_true 20 gone || fail "$*: it does not end"
	[ "$(grep -c "^$line" "$file")" = "$lines" ] || fail "$*, expected '$line': $(cat "$file")"
}
has_lines() {
	[ "$(grep -c used "$file")" -ge "$lines" ]
}
gone() {
	! kill -0 "$program" 2>/dev/null
}

# Five workers fit an SM, and there are more tasks than that.
shows 2 half "own used 66 most 131 " --quota 66sm -- "$PROGS/ptx_kinds" --launches 2
shows 2 few "own used 5 most 131 " --quota 5sm -- "$PROGS/ptx_kinds" --launches 2
# Without a part nothing is gathered, and a latency program's workers go where there is room.
shows 2 all "own used 132 most 131 " --rewrite -- "$PROGS/ptx_kinds" --launches 2
shows 2 latency "own used 132 most 131 " --class latency --quota 66sm -- "$PROGS/ptx_kinds" --launches 2

# hand PTX
hand() {
	shows 3 hand "used 33 most 131 wrong 0" --quota 25% -- "$PROGS/ptx_hand" "$1"
}
cat >"$work/hand.cu" <<'END'
#include <cotenant/workers.h>

extern "C" __attribute__((global)) void hand(unsigned *words, struct cot_workers_args workers)
{
	struct cot_workers_task task = cot_workers_begin(workers);
	unsigned sm;

	while (cot_workers_next(workers, task)) {
		/* Others begin beside it. */
		for (int i = 0; i < 8000; i++)
			asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
		words[2 * task.x] = sm;
		words[2 * task.x + 1]++;
	}
}
END
PATH=$PATH:/usr/local/cuda/bin
if clang=$(command -v clang); then
	"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib \
		-Xclang -target-feature -Xclang +ptx63 -DCOT_WORKERS_PTX63 -Wno-unknown-cuda-version \
		-Wall -Wextra -Werror -I"$SOURCE_DIR/include" -O2 -S "$work/hand.cu" -o "$work/clang.ptx" ||
		fail "clang does not build the kernel"
	hand "$work/clang.ptx"
fi
if nvcc=$(command -v nvcc); then
	"$nvcc" -arch=compute_90 -I"$SOURCE_DIR/include" -ptx "$work/hand.cu" -o "$work/nvcc.ptx" ||
		fail "nvcc does not build the kernel"
	hand "$work/nvcc.ptx"
fi
stop_daemon
finish
