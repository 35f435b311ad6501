#!/bin/bash
# test_loopback.sh [FOLDER]: the SPANK plugin in a Slurm of two nodes with accounting on this machine's loopback, with programs
# on the emulated GPU. Needs root, Debian's slurmctld, slurmd, slurmdbd, slurm-wlm-mysql-plugin, mariadb-server, slurm-client and
# libslurm-dev, and a build (default: build/release). Status 77: they are not here.
source=$(cd "$(dirname "$0")/../.." && pwd) build=${1:-$source/build/release}
top=$build
[ "$build" != "$source/build/release" ] || top=$source/build
export SOURCE_DIR=$source COTENANT=$top/bin/cotenant COTENANTD=$top/bin/cotenantd COTENANT_LIBRARY=$top/lib/libcotenant.so
export EMU=$top/lib/emu PROGS=$build/progs PEER=$build/progs/peer SLOWER=1
if [ "$(id -u)" != 0 ] || ! command -v slurmctld slurmd slurmdbd mariadbd srun gcc >/dev/null || [ ! -e /usr/include/slurm/spank.h ]; then
	echo "no Slurm here, or not root"
	exit 77
fi
# shellcheck source=/dev/null
. "$source/tests/integration/daemon/lib.sh"
need_emulator

slurm=${work:?}/slurm host=$(hostname -s)
export SLURM_CONF=$slurm/slurm.conf
mkdir -p "$slurm"/{state,spool/n1,spool/n2,log,run,db}
gcc -std=gnu11 -Wall -Wextra -Werror -fPIC -shared -o "$slurm/cotenant_spank.so" "$source/packaging/slurm/cotenant_spank.c" || exit 1
echo "optional $slurm/cotenant_spank.so task=$source/packaging/slurm/cotenant-slurm-task" >"$slurm/plugstack.conf"
port=$((20000 + $$ % 10000))
cat >"$slurm/slurm.conf" <<END
ClusterName=loop
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
SlurmctldPidFile=$slurm/run/slurmctld.pid
SlurmdPidFile=$slurm/run/slurmd.%n.pid
SlurmctldLogFile=$slurm/log/slurmctld.log
SlurmdLogFile=$slurm/log/slurmd.%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 3))
AccountingStorageTRES=gres/gpu,gres/shard
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
PlugStackConfig=$slurm/plugstack.conf
GresTypes=gpu,shard
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=16 RealMemory=1000 Gres=gpu:1,shard:8 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
printf 'NodeName=n[1-2] Name=gpu File=/dev/null\nNodeName=n[1-2] Name=shard Count=8\n' >"$slurm/gres.conf"
stop_slurm() {
	local file
	scancel --user=root 2>/dev/null
	for file in "$slurm"/run/*.pid; do
		[ ! -f "$file" ] || kill "$(cat "$file")" 2>/dev/null
	done
	sleep 1
}
trap 'stop_slurm; tidy' EXIT

# The database of slurmdbd, of this test alone.
cat >"$slurm/slurmdbd.conf" <<END
AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$((port + 3))
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 4))
StorageUser=slurm
StoragePass=slurm
StorageLoc=acct
LogFile=$slurm/log/slurmdbd.log
PidFile=$slurm/run/slurmdbd.pid
END
chmod 600 "$slurm/slurmdbd.conf"
mariadb-install-db --no-defaults --user=root --datadir="$slurm/db" --auth-root-authentication-method=socket >"$slurm/log/db" 2>&1 ||
	fail "the database: $(tail -n 3 "$slurm/log/db")"
mariadbd --no-defaults --user=root --datadir="$slurm/db" --socket="$slurm/run/db.sock" --bind-address=127.0.0.1 --port=$((port + 4)) \
	--pid-file="$slurm/run/mariadbd.pid" --innodb-buffer-pool-size=64M >>"$slurm/log/db" 2>&1 &
sql() { mariadb --no-defaults --socket="$slurm/run/db.sock" -e "$1"; }
has_database() { sql 'select 1' >/dev/null 2>&1; }
until_true 30 has_database || fail "no database: $(tail -n 3 "$slurm/log/db")"
sql "create database acct; create user slurm@'127.0.0.1' identified by 'slurm'; grant all on acct.* to slurm@'127.0.0.1'"
SLURM_CONF=$slurm/slurm.conf slurmdbd || fail "slurmdbd does not start"
keeps_accounts() { sacctmgr -n show cluster >/dev/null 2>&1; }
until_true 30 keeps_accounts || fail "slurmdbd does not answer: $(tail -n 3 "$slurm/log/slurmdbd.log")"
sacctmgr -i add cluster loop >"$slurm/log/cluster" 2>&1 || fail "the cluster: $(cat "$slurm/log/cluster")"
slurmctld -c -f "$SLURM_CONF" || exit 1
for n in n1 n2; do slurmd -N $n -f "$SLURM_CONF" || exit 1; done
idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null || echo 0)" = 2 ]; }
until_true 20 idle || { sinfo; tail "$slurm"/log/*; exit 1; }
start_daemon
export COTENANT_PROGRAM=$COTENANT
names() { "$COTENANT" ps --json | sed -n 's/.*"name": "\(slurm-[^"]*\)".*/\1/p' | sort; }
has_names() { [ "$(names | wc -l)" -eq "$1" ]; }
cd "$work" || exit 1

# Two tasks on two nodes, with class and target; names are job, step and task.
srun --help 2>&1 | grep -q -- '--cotenant-class=CLASS' || fail "srun does not know the option"
srun -N2 -n2 --cotenant-class=latency --cotenant-p99=50ms "$PROGS/request" --seconds 6 >"$work/srun" 2>&1 &
step=$!
until_true 20 has_names 2 || fail "srun: $(names) $(cat "$work/srun")"
names | grep -qxE 'slurm-[0-9]+\.0\.[01]' || fail "names: $(names)"
name=$(names | head -n 1)
[ "$(ps_value "$name" class)" = latency ] || fail "class: $(ps_value "$name" class)"
"$COTENANT" ps --json | grep -A60 "\"$name\"" | grep -q p99 || fail "no target"
wait $step || fail "srun: $(cat "$work/srun")"
until_true 10 has_names 0 || fail "left: $(names)"

# Without an option nothing of ours is in the task; a wrong one is refused with what was expected.
srun sh -c 'env' >"$work/out" 2>&1
says_not "$work/out" COTENANT_SLURM
says_not "$work/out" COTENANT_TENANT
srun --cotenant-class=fast true >"$work/out" 2>&1 && fail "class fast"
says "$work/out" "expected latency or batch"
# A task keeps its arguments and status; shards are weights.
srun --cotenant-class=batch sh -c 'echo "$1|$2"; exit 7' x "a b" '' >"$work/out" 2>&1
[ $? -eq 7 ] || fail "the status of the task"
says "$work/out" "a b|"
srun --gres=shard:2 --cotenant-class=batch "$PROGS/batch" --seconds 3 >"$work/out" 2>&1 &
step=$!
until_true 20 has_names 1 || fail "shards: $(cat "$work/out")"
[ "$(ps_value "$(names)" weight)" = 200 ] || fail "two shards: weight $(ps_value "$(names)" weight)"
wait $step || fail "shards: $(cat "$work/out")"

# With shards=8 in plugstack.conf they are a part of the SMs instead.
has_sms() { [ "$("$COTENANT" ps --json | sed -n 's/.*"sms": "\(.*\)".*/\1/p' | head -n 1)" = "$1" ]; }
sed -i 's/$/ shards=8/' "$slurm/plugstack.conf"
srun --gres=shard:2 --cotenant-class=batch "$PROGS/batch" --seconds 3 >"$work/out" 2>&1 &
step=$!
until_true 20 has_sms 25% || fail "two of eight shards: $("$COTENANT" ps --json) $(cat "$work/out")"
wait $step || fail "two of eight shards: $(cat "$work/out")"
sed -i 's/ shards=8//' "$slurm/plugstack.conf"

# Ten jobs at once; one is cancelled, a node's slurmd and the daemon are replaced meanwhile.
for i in 1 2 3 4 5 6 7 8 9 10; do
	printf '#!/bin/sh\n#SBATCH --cotenant-class=batch\n#SBATCH --gres=shard:1\nexec %s/batch --seconds 12\n' "$PROGS" >"$work/job$i"
	sbatch -o "$work/job$i.out" "$work/job$i" >"$work/out" 2>&1 || fail "sbatch: $(cat "$work/out")"
done
until_true 20 has_names 10 || fail "ten jobs: $(names)"
cancelled=$(names | head -n 1 | sed 's/slurm-\([0-9]*\).*/\1/')
scancel "$cancelled"
until_true 20 has_names 9 || fail "the cancelled job: $(names)"
kill "$(cat "$slurm/run/slurmd.n1.pid")"
sleep 1
slurmd -N n1 -f "$SLURM_CONF" || fail "slurmd does not start again"
sleep 1
has_names 9 || fail "after slurmd: $(names | wc -l)"
stop_daemon
start_daemon
until_true 20 has_names 9 || fail "the next daemon has: $(names | wc -l)"
done_all() { [ -z "$(squeue -h)" ]; }
until_true 30 done_all || fail "jobs are left: $(squeue)"
until_true 10 has_programs 0 || fail "programs are left: $(names)"
# The cancelled one may have said what it had done until then.
[ "$(cat "$work"/job*.out | grep -c 'wrong 0$')" -ge 9 ] || fail "results: $(cat "$work"/job*.out)"
grep -l 'wrong [1-9]' "$work"/job*.out >"$work/out" && fail "wrong results: $(cat "$work/out")"
# What the accounts say of these jobs; and nothing is left on the node.
accounts() { sacct -n -X -P --name="$1" --format=state,alloctres; }
ended() { [ "$(sacct -n -X -P --format=jobname,state | grep -c "^job[0-9]*|$1")" -eq "$2" ]; }
until_true 20 ended COMPLETED 9 || fail "accounts: $(sacct -n -X -P --format=jobname,state,alloctres)"
until_true 20 ended CANCELLED 1 || fail "accounts: $(sacct -n -X -P --format=jobname,state,alloctres)"
accounts job5 | grep -q 'gres/shard=1' || fail "accounts of job5: $(accounts job5)"
# Processes of this test's machine that are neither the daemon's nor Slurm's.
ours() {
	grep -lzF "COTENANT_RUNTIME_DIR=$COTENANT_RUNTIME_DIR" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ n _; do
		{ tr '\0' ' ' <"/proc/$n/cmdline"; } 2>/dev/null
		echo
	done | grep -E 'progs/|cotenant-slurm-task'
}
nobody() { [ -z "$(ours)" ]; }
until_true 10 nobody || fail "left on the node: $(ours)"
stop_daemon
finish
