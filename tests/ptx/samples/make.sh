#!/bin/sh
# Makes the samples again: NAME.sm_XX[.WHAT].ptx from NAME.cu, by nvcc 13.0 and clang 14. What differs
# afterwards comes from another version of the compiler. Those named *.nvrtcNN.ptx are not made here: NVRTC
# 11.8, 12.4 and 13.0 made them, of kernels/*.cu and halves.cu, by nvrtcCompileProgram() with
# --gpu-architecture=compute_XX --std=c++14 -default-device.
set -eu
cd "$(dirname "$0")"

# nvidia NAME SM [WHAT FLAG]
nvidia() {
	nvcc -std=c++17 -arch="compute_$2" ${4:+"$4"} -ptx "$1.cu" -o "$1.sm_$2${3:+.$3}.ptx"
}

nvidia basics 75
nvidia basics 90
nvidia warps 75
nvidia warps 90
nvidia halves 75
nvidia halves 80
nvidia async 80
nvidia async 90
nvidia debug 90 lineinfo -lineinfo
nvidia debug 80 debug -G
for sm in 50 80; do
	clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_$sm -nocudainc -nocudalib -O2 \
		-S plain.cu -o plain.sm_$sm.clang.ptx
done
# The folder of the sources is nobody's business, and blanks at the end of a line nobody's gain.
sed -i -e "s|$PWD/||g" -e 's/[[:blank:]]*$//' ./*.ptx
