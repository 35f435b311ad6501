#!/bin/sh
# cotenant inspect: kernels of a library, libraries of a program, and what is refused.
. "$SOURCE_DIR/tests/cli/lib.sh"

command -v cc >/dev/null || exit 77
corpus=$SOURCE_DIR/tests/fuzz/corpus/inspect

# A library with GPU code, and a program that asks for it and for one that is gone.
printf '.section .nv_fatbin,"a"\n.balign 8\n.incbin "%s"\n.section .note.GNU-stack\n' "$corpus/fatbin" >"$work/code.s"
echo 'int gone(void) { return 0; }' >"$work/gone.c"
echo 'int main(void) { return 0; }' >"$work/main.c"
mkdir "$work/lib"
cc -shared -o "$work/lib/libcode.so" "$work/code.s" || fail "no libcode.so"
cc -shared -o "$work/libgone.so" "$work/gone.c" || fail "no libgone.so"
cc -o "$work/program" "$work/main.c" -Wl,--no-as-needed -L"$work" -L"$work/lib" -lcode -lgone \
	-Wl,-rpath,'$ORIGIN/lib' || fail "no program"
rm "$work/libgone.so"

expect 0 inspect "$work/lib/libcode.so"
says "$work/out" "1 kernel in 1 fat binary"
grep -qE '^75, 90a +- +cooperative +count record +(steps\(float\*, int\)|_Z5stepsPfi)$' "$work/out" ||
	fail "the kernel: $(cat "$work/out")"
says "$work/out" "grid-wide synchronisation"
says "$work/out" "0 of 1 as workers"
# An older GPU gets the older PTX, which does not cooperate.
for arch in 80 8.0 sm_80 compute_80; do
	expect 0 inspect --arch $arch "$work/lib/libcode.so"
	says "$work/out" "On a GPU of compute capability 8.0:"
	says "$work/out" "1 of 1 as workers"
done
expect 0 inspect --arch 70 "$work/lib/libcode.so"
says "$work/out" "there is no PTX of it for this GPU"

expect 0 inspect "$work/program"
says "$work/out" "0 kernels in 0 fat binaries"
grep -qE "^libcode.so +75, 90a +- +$work/lib/libcode.so$" "$work/out" || fail "its library: $(cat "$work/out")"
grep -qE '^libgone.so +- +- +not found$' "$work/out" || fail "the library that is gone: $(cat "$work/out")"
# By LD_LIBRARY_PATH too.
(cd "$work" && mv lib other && LD_LIBRARY_PATH=$work/other "$COTENANT" inspect program >out && mv other lib) ||
	fail "inspect in its folder"
says "$work/out" "$work/other/libcode.so"

expect 0 inspect --json "$corpus/program"
python3 - "$work/out" <<'PY' || fail "JSON: $(cat "$work/out")"
import json, sys
o = json.load(open(sys.argv[1]))
assert o["schema"] == "cotenant.inspect/1" and o["arch"] == 90 and o["fat_binaries"] == 2
assert o["reach"] == {"pools": 2, "sms": 2, "quota": 0}
steps, plain = o["kernels"]
assert steps["name"] == "_Z5stepsPfi" and steps["ptx"] == ["75", "90a"] and not steps["workers"]
assert steps["passes"]["workers"] == "cooperative" and steps["passes"]["count"] is True
assert plain["code"] == ["75", "90"] and plain["passes"] == {} and "newer" in plain["why"]
PY

# A program of PATH; a mistake costs one sentence and status 2.
(cd / && PATH=$work:$PATH "$COTENANT" inspect program >/dev/null) || fail "a program of PATH"
echo '#!/bin/sh' >"$work/script"
echo '.version 7.0' >"$work/text.ptx"
: >"$work/empty"
mkfifo "$work/pipe"
for wrong in script:"a script" text.ptx:"cotenant ptx" empty:"not empty" none:"No such file" pipe:"not empty" lib:"expected a file"; do
	expect 2 inspect "$work/${wrong%%:*}"
	says "$work/err" "${wrong#*:}"
	empty "$work/out"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "$wrong: more than one line"
done
for arguments in "" "a b" "--arch 9 a" "--arch sm_9x a" "--arch 9.10 a"; do
	# shellcheck disable=SC2086 # words
	expect 2 inspect $arguments
done
expect 2 ptx "$work/lib/libcode.so"
says "$work/err" "cotenant inspect"

# What nvcc makes.
PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null; then
	cat >"$work/both.cu" <<'CU'
template <class T> __global__ void twice(T *p) { p[threadIdx.x] *= 2; }
int main() { twice<float><<<1, 32>>>(nullptr); }
CU
	if timeout 120 nvcc -o "$work/both" "$work/both.cu" -gencode arch=compute_75,code=sm_75 \
		-gencode 'arch=compute_90,code=[sm_90,compute_90]' 2>"$work/err"; then
		expect 0 inspect "$work/both"
		grep -qE '^90 +75, 90 +yes +all +' "$work/out" || fail "nvcc's: $(cat "$work/out")"
		says "$work/out" "1 of 1 as workers"
	fi
fi
finish
