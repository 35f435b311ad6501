#!/bin/sh
# bench/smguard with tiny kernels on the emulated GPU: pairs of programs under MPS and under cotenant.
set -u
: "${SOURCE_DIR:?the sources}" "${COTENANT:?the program beside which smguard-app is}"

python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
[ -x "$(dirname "$COTENANT")/smguard-app" ] || {
	echo "smguard-app is not built"
	exit 77
}
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_GPUS LD_PRELOAD
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$SOURCE_DIR/bench/smguard/test_smguard.py" "$(dirname "$COTENANT")"
