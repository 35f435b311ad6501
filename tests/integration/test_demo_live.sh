#!/bin/sh
# The live demonstration on machines that it may meet: with no GPU, with one that cannot be used, or
# only in part. It says so, and goes on with the emulated one. The programs are stand-ins.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_EMU_DIR

if [ -e /dev/nvidiactl ]; then
	echo "there is a GPU here"
	exit 77
fi

DRIVER=$work/driver
export DRIVER
mkdir "$work/progs" "$DRIVER"
: >"$DRIVER/libcuda.so.1"
cat >"$work/progs/request" <<'END'
#!/bin/sh
case $LD_LIBRARY_PATH.$MODE in
"$DRIVER"*.unusable) echo "failed cuInit(0) CUDA_ERROR_NO_DEVICE"; exit 3 ;;
esac
echo "requests 9 p50_us 1 p99_us 2 max_us 3 gpu_p50_us 4 gpu_p99_us 5 gpu_max_us 6"
END
cat >"$work/progs/batch" <<'END'
#!/bin/sh
case $LD_LIBRARY_PATH.$MODE in
"$DRIVER"*.exclusive) echo "failed cuCtxCreate CUDA_ERROR_DEVICE_UNAVAILABLE"; exit 3 ;;
esac
end() {
	echo "kernels 5 per_s 7.5 share 1 checksum 0 wrong 0"
	exit 0
}
trap end TERM
# batch --seconds N
tries=$((10 * $2))
while [ $tries -gt 0 ]; do
	sleep 0.1
	tries=$((tries - 1))
done
end
END
chmod +x "$work/progs/request" "$work/progs/batch"

# with KIND COMMAND...: with a /dev/nvidiactl that is a file, or a folder (which nobody can open).
cat >"$work/with" <<'END'
#!/bin/sh
kind=$1
shift
exec unshare --map-root-user --mount sh -c '
	kind=$1
	shift
	mount -t tmpfs tmpfs "$dev" || exit 125
	for n in null zero urandom; do
		: >"$dev/$n" && mount --bind "/dev/$n" "$dev/$n" || exit 125
	done
	ln -s /proc/self/fd "$dev/fd"
	# Folders for what is temporary may lie there.
	if [ -d /dev/shm ]; then
		mkdir "$dev/shm" && mount --bind /dev/shm "$dev/shm" || exit 125
	fi
	case $kind in
	file) : >"$dev/nvidiactl" ;;
	folder) mkdir "$dev/nvidiactl" ;;
	esac
	mount --rbind "$dev" /dev || exit 125
	exec "$@"' sh "$kind" "$@"
END
chmod +x "$work/with"
mkdir "$work/dev"
dev=$work/dev
export dev
if ! "$work/with" file test -e /dev/nvidiactl 2>"$work/err"; then
	echo "no namespaces here: $(cat "$work/err")"
	exit 77
fi

# start NAME KIND MODE: the demonstration, beside the others.
start() {
	MODE=$3 LD_LIBRARY_PATH=$DRIVER background "$work/with" "$2" \
		bash "$SOURCE_DIR/scripts/demo-live.sh" "${COTENANT%/*}" "$work/progs" "$EMU" 1 \
		>"$work/$1" 2>&1
	demos="$demos $pid"
}

demos=
start none no fine
start forbidden folder fine
start unusable file unusable
start exclusive file exclusive
start usable file fine
for pid in $demos; do
	wait "$pid" || fail "a demonstration ended with status $?"
done

# The batch program of a demonstration makes 7.5 kernels a second alone, as beside others: two make 2.00 times that.
# Who got to the end has three rows, of times as events say on the emulated GPU.
for name in none forbidden unusable exclusive; do
	[ "$(sed '1,/emulated H200/d' "$work/$name" | grep -c ' 4 us  *5 us  *6 us ')" -eq 3 ] ||
		fail "$name: $(cat "$work/$name")"
	[ "$(grep -c ' 2.00$' "$work/$name")" -ge 2 ] || fail "$name: $(cat "$work/$name")"
done
says_not "$work/none" instead
says "$work/forbidden" "There is an NVIDIA GPU, but user "
says "$work/forbidden" "may not use it (/dev/nvidiactl)."
says "$work/unusable" "it cannot be used: failed cuInit(0) CUDA_ERROR_NO_DEVICE."
says "$work/exclusive" "share the GPU of this machine."
says "$work/exclusive" "A batch program failed: failed cuCtxCreate CUDA_ERROR_DEVICE_UNAVAILABLE."
for name in forbidden unusable exclusive; do
	says "$work/$name" "The emulated GPU is used instead"
done
[ "$(grep -c ' 1 us  *2 us  *3 us ' "$work/usable")" -eq 3 ] || fail "usable: $(cat "$work/usable")"
says_not "$work/usable" emulated
grep -qE '^MPS( +-){3} +not there$' "$work/usable" || fail "usable: $(cat "$work/usable")"
says_not "$work/none" "^MPS"
says "$work/usable" "MPS is not available: programs stand alone and take turns"
finish
