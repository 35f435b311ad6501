#!/bin/sh
# Programs in containers: other processes, another root, no home and no configuration. What they
# share with the daemon is its folder, and the variables that name the socket and the library.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

root=$work/chroot
mkdir -p "$root/opt" "$root/proc" "$root/dev" "$root/tmp" "$work/run"
cp "$COTENANT" "$root/opt/cotenant"
cp "$COTENANT_LIBRARY" "$root/opt/libcotenant.so"
chmod 700 "$work/run"

# inside VARIABLE=VALUE... COMMAND...: in a container of its own. The emulated GPU's folders stand for
# the device nodes and the driver that a container's runtime brings along.
cat >"$work/inside" <<'END'
#!/bin/sh
exec unshare --map-root-user --mount --pid --fork --kill-child --mount-proc sh -c '
	for path in /usr /bin /sbin /lib /lib64 /dev /proc "$work/run" "$work/emu" "$PROGS" "$EMU"; do
		if [ -L "$path" ]; then
			[ -L "$root$path" ] || cp -P "$path" "$root$path" || exit 1
		elif [ -d "$path" ]; then
			mkdir -p "$root$path" && mount --rbind "$path" "$root$path" || exit 1
		fi
	done
	exec chroot "$root" env -i PATH=/usr/bin:/bin HOME=/nowhere \
		COTENANT_EMU_DIR="$COTENANT_EMU_DIR" "$@"
' sh "$@"
END
chmod 700 "$work/inside"
export work root PROGS EMU
inside() {
	"$work/inside" "$@"
}

# controlled VARIABLE=VALUE... COMMAND...: inside, with what the daemon's user hands in.
controlled() {
	inside COTENANT_SOCKET="$COTENANT_SOCKET" COTENANT_LIBRARY=/opt/libcotenant.so "$@"
}

# The same in the background; the pid is in $pid.
start_controlled() {
	background "$work/inside" COTENANT_SOCKET="$COTENANT_SOCKET" \
		COTENANT_LIBRARY=/opt/libcotenant.so "$@"
}

if ! inside true 2>"$work/err"; then
	echo "no containers here: $(cat "$work/err")"
	exit 77
fi
inside ls "$SOURCE_DIR/README.md" >"$work/out" 2>&1 && fail "it sees everything"

"$PROGS/batch" --seconds 0.2 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
start_daemon

# In the pools: one batch program in a container, a latency program in another one.
start_controlled COTENANT_NAME=train COTENANT_BLOCK_US=50 /opt/cotenant run -- \
	"$PROGS/batch" --block-us 2000 --seconds 60 >"$work/train" 2>"$work/train.err"
expect_value train pool batch
[ "$(ps_value train block_us)" = 50 ] || fail "COTENANT_BLOCK_US did not arrive"
start_controlled COTENANT_CLASS=latency /opt/cotenant run --name serve -- \
	"$PROGS/request" --seconds 1 >"$work/serve" 2>"$work/serve.err"
serve=$pid
expect_value batch slice_read_back_us 20
expect_value batch mode drain
for p in train serve; do
	[ ! -s "$work/$p.err" ] || fail "$p said something: $(cat "$work/$p.err")"
	# The number of the process out here, not the one in there.
	n=$(ps_value $p pid)
	if [ "$n" -le 10 ] || [ ! -d "/proc/$n" ]; then
		fail "$p has the process number '$n'"
	fi
done
controlled /opt/cotenant ps >"$work/out" || fail "ps inside"
says "$work/out" "train"
controlled /opt/cotenant set train --block unknown >"$work/out" || fail "set inside: $(cat "$work/out")"
expect_value batch mode switch
wait "$serve" || fail "serve"
[ "$(value requests "$work/serve")" -gt 20 ] || fail "serve: $(cat "$work/serve")"
kill "$(ps_value train pid)"
until_true 5 has_programs 0 || fail "a program is left"
until_true 5 test -s "$work/train" || fail "train said nothing"
[ "$(value wrong "$work/train")" = 0 ] || fail "train: wrong results"

# By itself: its own library listens, across the border.
start_controlled /opt/cotenant run --solo --name alone -- "$PROGS/batch" --seconds 60 \
	>"$work/solo"
container=$pid
expect_value alone slice_us 2000
"$COTENANT" freeze alone >"$work/out" || fail "freeze: $(cat "$work/out")"
[ "$(n_frozen)" -eq 1 ] || fail "$(n_frozen) are frozen"
"$COTENANT" thaw alone >"$work/out" || fail "thaw: $(cat "$work/out")"
[ "$(n_frozen)" -eq 0 ] || fail "still frozen"
# The container is killed: nothing of it is left.
kill -9 "$container"
until_true 5 has_programs 0 || fail "a program of a dead container is left"

# With nothing shared, the program runs unchanged after one line.
inside COTENANT_LIBRARY=/opt/libcotenant.so /opt/cotenant run -- "$PROGS/batch" --seconds 0.2 \
	>"$work/without" 2>"$work/err" || fail "without a daemon: $(cat "$work/err")"
[ "$(value checksum "$work/without")" = "$sum" ] || fail "another result"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line: $(cat "$work/err")"
says "$work/err" "running '$PROGS/batch' without control"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
