#!/bin/sh
# A real Prometheus scrapes the daemon: what it gets has no doubt; every alert and every panel of the dashboard is a question
# that it answers; an alert fires when what it is about happens, and no other.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU
export LD_LIBRARY_PATH
for tool in prometheus promtool python3; do
	command -v $tool >/dev/null || {
		echo "$tool is not here"
		exit 77
	}
done
rules=$SOURCE_DIR/packaging/prometheus/cotenant.rules.yml
promtool test rules "$SOURCE_DIR/tests/integration/daemon/alerts.yml" >"$work/out" 2>&1 ||
	fail "the alerts: $(cat "$work/out")"

# free_port: one of this machine's that nobody uses now.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
at=127.0.0.1:$(free_port) own=127.0.0.1:$(free_port)
printf 'schema: cotenantd/1\nmetrics: %s\n' "$at" >"$work/conf"
start_daemon -c "$work/conf"
background "$COTENANT" run --class latency --p99 1us --name api -- python3 -B "$SOURCE_DIR/bench/live/chain.py" service --emulated \
	--us 500 --per-s 50 >"$work/api" 2>&1
background "$COTENANT" run --name train --sms 64 -- "$PROGS/parts" --seconds 600 >"$work/train"
background "$COTENANT" run --name alone --solo -- "$PROGS/batch" --seconds 600 >"$work/alone"

cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$rules]
scrape_configs:
  - job_name: cotenant
    static_configs: [{targets: ['$at']}]
END
promtool check config "$work/prometheus.yml" >"$work/out" 2>&1 || fail "the rules: $(cat "$work/out")"
background prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address="$own" \
	--log.level=error >"$work/prometheus.log" 2>&1
prometheus_pid=$pid

ask() {
	python3 -B "$SOURCE_DIR/tests/integration/daemon/prometheus.py" "$own" "$@"
}
until_true 30 ask has 'up{job="cotenant"} == 1' || fail "it is not scraped: $(cat "$work/prometheus.log")"
until_true 30 ask has 'rate(cotenant_request_service_seconds_count{program="api"}[30s]) > 0' || fail "no requests are counted: $(cat "$work/api")"
until_true 30 ask has 'cotenant_program_sms{program="train"} == 64' || fail "no part: $("$COTENANT" ps)"

# What it takes from us is in its tables, one for one.
until_true 10 ask has 'scrape_samples_scraped{job="cotenant"} == scrape_samples_post_metric_relabeling' || fail "samples are lost"
ask rules >"$work/out" || fail "rules: $(cat "$work/out")"
until_true 30 ask board "$SOURCE_DIR/packaging/grafana/cotenant.json" >"$work/out" 2>&1 || fail "the dashboard: $(cat "$work/out")"
# The target of 1 us is missed: that alert waits for its five minutes, and no other.
until_true 30 ask alert CotenantTargetMissed pending || fail "no alert: $(ask alerts)"
[ "$(ask alerts | grep -v -e CotenantTargetMissed -e CotenantRequestsMissed)" = "" ] || fail "alerts: $(ask alerts)"
# Its histogram says what the daemon's own percentile says, within a bucket.
ask near 'histogram_quantile(0.99, sum by (le) (rate(cotenant_request_response_seconds_bucket{program="api"}[1m])))' \
	'max(cotenant_request_p99_seconds{program="api"})' 4 >"$work/out" || fail "$(cat "$work/out")"

stop_daemon
until_true 30 ask alert CotenantDown pending || fail "it is not missed: $(ask alerts)"
kill "$prometheus_pid"
finish
