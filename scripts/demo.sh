#!/bin/sh
# The demonstration of ./dev demo: what sharing a GPU costs today, and what preemption changes.
#   demo.sh PROGRAM
set -eu
cotenant=$1
cd "$(dirname "$0")/.."

cat <<'END'

A short urgent program (spmv) shares a simulated GPU with two long batch programs (lbm, stencil).
fcfs and timeslice are what a GPU does today; the others preempt.

END
"$cotenant" compare scenarios/demo.yaml
cat <<'END'

Next: cotenant sim scenarios/demo.yaml --scheduler ppq --report report.html
      cotenant reproduce preemption --quick        the paper's evaluation, in seconds
      cotenant help                                 (the program is build/bin/cotenant)
END
