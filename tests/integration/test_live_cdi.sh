#!/bin/sh
# A container that is made of what `cotenant cdi generate` says: user, PID and mount namespaces of its own, another
# root, and nothing of ours in it but that. The program in it is under control.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
root=$work/root
mkdir -p "$root/opt" "$root/tmp" "$work/run"
chmod 700 "$work/run"

"$COTENANT" cdi generate --output "$work/cdi.json" || fail "cdi generate"
# What a runtime does: lines "mount HOST INSIDE OPTIONS" and "env NAME=VALUE" of one device.
cat >"$work/runtime.py" <<'END'
import json, sys
spec = json.load(open(sys.argv[1]))
device = next(d for d in spec['devices'] if d['name'] == sys.argv[2])
for edits in spec['containerEdits'], device['containerEdits']:
    for m in edits.get('mounts', []):
        print('mount', m['hostPath'], m['containerPath'], ','.join(m['options']))
    for e in edits.get('env', []):
        print('env', e)
END

# inside CLASS COMMAND...: the emulated GPU's folders stand for the devices and the driver that NVIDIA's CDI file brings.
cat >"$work/inside" <<'END'
#!/bin/sh
python3 "$work/runtime.py" "$work/cdi.json" "$1" >"$work/edits.$1" || exit 1
edits=$work/edits.$1
export edits
shift
exec unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc sh -c '
	for path in /usr /bin /sbin /lib /lib64 /dev /proc "$work/emu" "$PROGS" "$EMU"; do
		if [ -L "$path" ]; then
			[ -L "$root$path" ] || cp -P "$path" "$root$path" || exit 1
		elif [ -d "$path" ]; then
			mkdir -p "$root$path" && mount --rbind "$path" "$root$path" || exit 1
		fi
	done
	variables=
	while read -r what a b options; do
		case $what in
		env) variables="$variables $a" ;;
		mount)
			if [ -d "$a" ]; then
				mkdir -p "$root$b"
			else
				mkdir -p "$root${b%/*}" && : >>"$root$b"
			fi
			mount -o "$options" "$a" "$root$b" || exit 1 ;;
		esac
	done <"$edits"
	exec chroot "$root" env -i PATH=/usr/bin:/bin HOME=/nowhere COTENANT_EMU_DIR="$COTENANT_EMU_DIR" $variables "$@"
' sh "$@"
END
chmod 700 "$work/inside"
export work root PROGS EMU
if ! "$work/inside" batch true 2>"$work/err"; then
	echo "no containers here: $(cat "$work/err")"
	exit 77
fi
"$work/inside" batch ls "$SOURCE_DIR/README.md" >"$work/out" 2>&1 && fail "it sees everything"
start_daemon

background "$work/inside" batch /opt/cotenant/bin/cotenant run --name train -- "$PROGS/batch" --seconds 60 \
	>"$work/train" 2>"$work/train.err"
expect_value train pool batch
background "$work/inside" latency /opt/cotenant/bin/cotenant run --name serve -- "$PROGS/request" --seconds 2 \
	>"$work/serve" 2>"$work/serve.err"
serve=$pid
expect_value serve class latency
expect_value batch slice_read_back_us 20
for p in train serve; do
	[ ! -s "$work/$p.err" ] || fail "$p said: $(cat "$work/$p.err")"
	n=$(ps_value $p pid)
	case $(readlink "/proc/$n/ns/pid") in
	"$(readlink /proc/self/ns/pid)" | "") fail "$p is in no PID namespace of its own: $n" ;;
	esac
	[ "$(readlink "/proc/$n/ns/user")" != "$(readlink /proc/self/ns/user)" ] || fail "$p: no user namespace"
done
"$COTENANT" set train --weight 7 >"$work/out" || fail "set: $(cat "$work/out")"
[ "$(ps_value train weight)" = 7 ] || fail "the weight stayed"
wait "$serve" || fail "serve: $(cat "$work/serve.err")"
[ "$(value requests "$work/serve")" -gt 20 ] || fail "serve: $(cat "$work/serve")"
kill "$(ps_value train pid)"
until_true 5 has_programs 0 || fail "a program is left"
until_true 5 test -s "$work/train" || fail "train said nothing"
[ "$(value wrong "$work/train")" = 0 ] || fail "train: wrong results"
stop_daemon
finish
