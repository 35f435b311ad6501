#!/bin/sh
# What the passes cost in registers and shared memory, from NVIDIA's assembler; no GPU is needed.
#
#   registers.sh COTENANT [TARGET] [FILE.ptx...]
#
# Prints a table in Markdown: for each kernel the registers of a thread, and behind + the bytes of
# shared memory that a pass adds; and the thread blocks of 256 threads that fit an SM of 65,536
# registers, where these change. TARGET is sm_90 if not given, the files those of kernels/ptx.
set -eu
LC_ALL=C
export LC_ALL
cotenant=${1:?the program cotenant}
target=${2-sm_90}
shift
[ $# -eq 0 ] || shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- "$here"/../../kernels/ptx/*.ptx
command -v ptxas >/dev/null || {
	echo "registers.sh: no ptxas in the path" >&2
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passes="workers retreat slice count record"

# usage FILE: lines "kernel registers shared spilled".
usage() {
	ptxas -arch="$target" -v "$1" -o "$work/code" 2>&1 | awk '
		/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
		/bytes spill stores/ { if (name != "") spilled = $5 }
		/Used [0-9]+ registers/ && name != "" {
			shared = 0
			for (i = 2; i <= NF; i++)
				if ($i ~ /^smem/) shared = $(i - 2)
			for (i = 1; i <= NF; i++)
				if ($i == "Used") registers = $(i + 1)
			print name, registers, shared, spilled
			name = ""
		}'
}

{
	for file in "$@"; do
		usage "$file" | sed "s|^|- $(basename "$file" .ptx) |"
		for pass in $passes; do
			"$cotenant" ptx "$file" --pass "$pass" -o "$work/rewritten.ptx" 2>/dev/null || continue
			usage "$work/rewritten.ptx" | sed -n "s|^\(.*\)\\\$cot_$pass |$pass $(basename "$file" .ptx) \1 |p"
		done
	done
} | awk -v passes="$passes" '
	function blocks(registers) {
		registers = int((registers + 7) / 8) * 8
		n = int(65536 / (registers * 256))
		return n > 8 ? 8 : n
	}
	{
		key = $2 " | " $3
		if ($1 == "-") order[n_order++] = key
		registers[$1, key] = $4
		shared[$1, key] = $5
		spilled[$1, key] = $6
	}
	END {
		n_passes = split(passes, pass, " ")
		head = "| file | kernel | plain |"
		line = "|---|---|--:|"
		for (p = 1; p <= n_passes; p++) {
			head = head " " pass[p] " |"
			line = line "--:|"
		}
		print head
		print line
		for (i = 0; i < n_order; i++) {
			key = order[i]
			row = "| " key " | " registers["-", key] " |"
			for (p = 1; p <= n_passes; p++) {
				if (!((pass[p], key) in registers)) {
					row = row " refused |"
					continue
				}
				cell = registers[pass[p], key]
				more = shared[pass[p], key] - shared["-", key]
				if (more) cell = cell " + " more " B"
				before = blocks(registers["-", key])
				after = blocks(registers[pass[p], key])
				if (before != after) cell = cell ", " after " blocks, not " before
				if (spilled[pass[p], key] > spilled["-", key]) cell = cell ", spills"
				row = row " " cell " |"
			}
			print row
		}
	}'
