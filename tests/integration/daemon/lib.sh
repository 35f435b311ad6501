# Helpers of the daemon's tests. Needs, from the environment:
#   COTENANT, COTENANTD, PEER     the programs (PEER is daemon/peer.c)
#   COTENANT_LIBRARY              libcotenant.so
#   SLOWER                        how many times longer what the daemon does may take in this build
#   EMU, PROGS                    folders of the emulated driver and of the test programs; only
#                                 for tests that call need_emulator
# shellcheck shell=sh

: "${COTENANT:?the command}" "${COTENANTD:?the daemon}" "${PEER:?the other end, for tests}"

# As /run is, if programs may lie there: a disk that is busy would hold the daemon up when it writes down what
# it knows.
[ -w /dev/shm ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts && export TMPDIR=/dev/shm
work=$(mktemp -d) || exit 1
LC_ALL=C
COTENANT_RUNTIME_DIR=$work/run
COTENANT_SOCKET=$work/run/cotenantd.sock
COTENANT_GPUS=1
COTENANT_MPS_CONTROL=$work/no-mps
XDG_CACHE_HOME=$work/cache
export LC_ALL COTENANT_RUNTIME_DIR COTENANT_SOCKET COTENANT_GPUS COTENANT_MPS_CONTROL XDG_CACHE_HOME
unset COTENANT_TENANT COTENANT_CLASS COTENANT_NAME COTENANT_WEIGHT COTENANT_BLOCK_US COTENANT_GPU COTENANT_REQUIRED \
	COTENANT_DISABLE COTENANT_ROLE COTENANT_POOL COTENANT_LOG CUDA_VISIBLE_DEVICES LD_PRELOAD
daemon_pid=
children=
n_failed=0

# is_own PID: our child, or a process that knows our folder. A number alone says little: where all tests run at once
# another process may have it a minute after the first one's end.
is_own() {
	[ -n "$1" ] || return 1
	while read -r own_key own_value; do
		[ "$own_key $own_value" != "PPid: $$" ] || return 0
	done 2>/dev/null <"/proc/$1/status"
	grep -qsF -e "$work" "/proc/$1/environ" "/proc/$1/cmdline"
}

# As kill, but for numbers that have become a stranger's: those it leaves alone, as if nobody had them.
kill() {
	n_strangers=0
	for own_word in "$@"; do
		case $own_word in
		'' | *[!0-9]*) ;;
		*) [ ! -e "/proc/$own_word" ] || is_own "$own_word" || n_strangers=$((n_strangers + 1)) ;;
		esac
	done
	[ "$n_strangers" = 0 ] || return 1
	command kill "$@"
}

fail() {
	echo "FAILED: $*" >&2
	n_failed=$((n_failed + 1))
}

says() {
	grep -qF -e "$2" "$1" || fail "expected '$2' in $1: $(tail -c 2000 "$1")"
}

says_not() {
	grep -qF -e "$2" "$1" && fail "did not expect '$2' in $1: $(tail -c 2000 "$1")"
	return 0
}

# In the background, ended with the test. The pid is in $pid.
background() {
	"$@" &
	pid=$!
	children="$children $pid"
}

now_ms() {
	date +%s%3N
}

# until_true SECONDS COMMAND...: tries again and again. The seconds are an idle machine's; a busy one gets
# BUSY_SECONDS more, which cost nothing where the condition comes true.
BUSY_SECONDS=20
until_true() {
	until_ms=$(($(now_ms) + ($1 + BUSY_SECONDS) * 1000))
	shift
	while ! "$@"; do
		[ "$(now_ms)" -lt "$until_ms" ] || return 1
		sleep 0.02
	done
}

# start_daemon ARGUMENT...: returns when it serves.
start_daemon() {
	mkdir -p "$work"
	"$COTENANTD" --log-level debug "$@" >>"$work/daemon.log" 2>&1 &
	daemon_pid=$!
	until_true 5 "$COTENANT" ps >/dev/null 2>&1 || fail "no daemon: $(cat "$work/daemon.log")"
}

# stop_daemon: politely; its status is in $status.
stop_daemon() {
	kill "$daemon_pid" 2>/dev/null
	wait "$daemon_pid"
	# shellcheck disable=SC2034 # for the caller
	status=$?
	daemon_pid=
}

# kill_daemon: at once.
kill_daemon() {
	kill -9 "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	daemon_pid=
}

# ps_value NAME KEY: a member of the program or pool of that name, as `ps --json` shows it.
ps_value() {
	"$COTENANT" ps --json | awk -v name="\"$1\"" -v key="\"$2\":" '
		/^    {/ { found = ""; value = "" }
		$1 == "\"name\":" && ($2 == name "," || $2 == name) { found = 1 }
		$1 == key { value = $2; gsub(/[",]/, "", value) }
		/^    }/ { if (found && value != "") { print value; exit } }'
}

is() {
	[ "$(ps_value "$1" "$2")" = "$3" ]
}

# expect_value NAME KEY VALUE: now or soon.
expect_value() {
	until_true 5 is "$1" "$2" "$3" ||
		fail "$1: $2 is '$(ps_value "$1" "$2")', expected '$3'"
}

# freezes NAME: asked once. What the command says is in $work/out: that it is so, or on a busy machine that it
# has not been confirmed; then it comes about without being asked for again.
freezes() {
	"$COTENANT" freeze "$1" >"$work/out" 2>&1 && return
	grep -q "the daemon repeats the order" "$work/out" && stays_frozen "$1"
}

# stays_frozen NAME: nobody has let it go; where a lease has ended it is frozen again.
stays_frozen() {
	is "$1" held true && until_true 5 is "$1" state frozen && is "$1" held true
}

# The number of programs.
n_programs() {
	"$COTENANT" ps --json | grep -c '"weight":'
}

has_programs() {
	[ "$(n_programs)" -eq "$1" ]
}

# need_emulator: everything after it runs on the emulated GPU.
need_emulator() {
	if [ ! -e "${EMU:-}/libcuda.so.1" ] || [ ! -d "${PROGS:-}" ] ||
		[ ! -e "${COTENANT_LIBRARY:-}" ]; then
		echo "no emulated driver here"
		exit 77
	fi
	mkdir -p "$work/emu"
	COTENANT_EMU_DIR=$work/emu
	COTENANT_MPS_CONTROL=$EMU/nvidia-cuda-mps-control
	# The programs find the driver by their own path, which the shim does not know.
	COTENANT_SHIM_DRIVER=$EMU/libcuda.so.1
	export COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_LIBRARY COTENANT_SHIM_DRIVER
}

# value NAME FILE: the number behind a name in a line of "name value name value ...".
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) { print $(i + 1); exit } }' "$2"
}

# between LEAST MOST NUMBER
between() {
	awk -v v="$3" -v a="$1" -v b="$2" 'BEGIN { exit !(v != "" && v >= a && v <= b) }'
}

expect_between() {
	between "$1" "$2" "$3" || fail "$4 is '$3', expected $1 to $2"
}

# groups PID KEY: that number of the process's compute group on the emulated GPU.
group() {
	"$PROGS/emu_state" | awk -v pid="$1" -v key="$2" '
		$3 == pid && $7 == "graphics" {
			for (i = 1; i < NF; i++) if ($i == key) { print $(i + 1); exit } }'
}

# How many processes on the emulated GPU are frozen.
n_frozen() {
	"$PROGS/emu_state" | awk '$7 == "graphics" && $13 > 0 { n++ } END { print n + 0 }'
}

tidy() {
	for pid in $children $daemon_pid; do
		kill -9 "$pid" 2>/dev/null
	done
	# Pools outlive their daemon on purpose.
	for log in "$work"/run/gpu*/pipe; do
		[ -d "$log" ] || continue
		echo quit | CUDA_MPS_PIPE_DIRECTORY=$log timeout 5 "$COTENANT_MPS_CONTROL" \
			>/dev/null 2>&1
	done
	# Whatever else has our folder: nobody would end it.
	while read -r process; do
		process=${process#/proc/}
		kill -9 "${process%/environ}" 2>/dev/null
	done <<-END
		$(grep -lzxsF "COTENANT_RUNTIME_DIR=$work/run" /proc/[0-9]*/environ)
	END
	rm -rf "$work"
}
trap tidy EXIT
trap 'exit 1' INT TERM

finish() {
	[ "$n_failed" -eq 0 ] || {
		[ ! -e "$work/daemon.log" ] || {
			grep -v DEBUG "$work/daemon.log" | tail -40
			tail -10 "$work/daemon.log"
		} >&2
		exit 1
	}
	exit 0
}
