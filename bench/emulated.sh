# What benchmarks of a daemon on the emulated GPU have in common. Sourced, with the build's folder in $1 or without; then
# start_daemon and the rest of tests/integration/daemon/lib.sh are there.
# shellcheck shell=sh
build=$(realpath "${1:-build}") || exit 1
COTENANT=$build/bin/cotenant COTENANTD=$build/bin/cotenantd COTENANT_LIBRARY=$build/lib/libcotenant.so
EMU=$build/lib/emu PROGS=$build/release/progs PEER=$PROGS/peer SLOWER=1
export COTENANT COTENANTD COTENANT_LIBRARY EMU PROGS PEER SLOWER
# shellcheck source=tests/integration/daemon/lib.sh
. "$(dirname "$0")/../tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH
