#!/bin/sh
# `cotenant sim --learn` and `--knowledge`: what is written, and that it is read.
. "$SOURCE_DIR/tests/cli/lib.sh"

cat >"$work/s.yaml" <<'YAML'
schema: cotenant.scenario/1
gpu: {preset: h200, sms: 16}
scheduler: timeslice
policy: pools
stop: {at_us: 5000}
apps:
  - name: service
    class: latency
    sizes: [1, 2, 2]
    program:
      - h2d_bytes: 8192
      - kernel: {name: first, blocks: 32, block_us: 10, blocks_per_sm: 1, launches: 2}
      - kernel: {name: last, blocks: 8, block_us: 20, blocks_per_sm: 1}
      - d2h_bytes: 4096
  - name: batch
    program:
      - kernel: {name: k, blocks: 64, block_us: 10, blocks_per_sm: 1}
YAML

expect 0 sim "$work/s.yaml"
cp "$work/out" "$work/text"
expect 0 sim "$work/s.yaml" --learn "$work/known"
cmp -s "$work/out" "$work/text" || fail "pools decides otherwise because something is known"
[ "$(names_in "$work/known")" = "batch.yaml service.yaml" ] || fail "left: $(names_in "$work/known")"
# 64 blocks are 8 waves on 8 SMs.
says "$work/known/batch.yaml" "time_ns: [80000, 40000]"
says "$work/known/batch.yaml" "class: batch"
# Of the size 2: 2 x 40 + 20 us on 8 SMs, and 2 x 20 + 20 on 16; of size 1 half of the blocks.
says "$work/known/service.yaml" "sms: [8, 16]"
says "$work/known/service.yaml" "time_ns: [100000, 60000]"
says "$work/known/service.yaml" "time_ns: [60000, 40000]"
says "$work/known/service.yaml" "tasks: [0, 0, 1]"
says "$work/known/service.yaml" "tasks: [2, 2, 3]"
says "$work/known/service.yaml" "name: \"first (1)\""

# Predictors learn from such files: of two sizes, one says nothing of the other.
expect 0 profile --judge "$work/known/service.yaml"
says "$work/out" "PREDICTED BY  MEAN ERROR"
[ "$(grep -c '^tree  *[0-9.]* %  *[0-9.]* %  *[0-9.]* %  *[0-9.]* %' "$work/out")" -eq 1 ] || fail "no tree: $(cat "$work/out")"
expect 1 profile --judge "$work/known/batch.yaml"
says "$work/err" "has 0 sizes of input; expected two or more"
expect 2 profile --judge "$work/known/service.yaml" -- true
says "$work/err" "--judge runs no program"
cp -r "$work/known" "$work/first"
expect 0 sim "$work/s.yaml" --learn "$work/known"
diff -r "$work/known" "$work/first" >/dev/null || fail "it learns something else every time"

expect 0 sim "$work/s.yaml" --knowledge "$work/known"
rm "$work/known/batch.yaml"
expect 0 sim "$work/s.yaml" --knowledge "$work/known"
echo "clas: latency" >>"$work/known/service.yaml"
expect 2 sim "$work/s.yaml" --knowledge "$work/known"
says "$work/err" "service.yaml"
expect 1 sim "$work/s.yaml" --knowledge "$work/nothing"
says "$work/err" "cannot look into the folder"
expect 2 sim "$work/s.yaml" --knowledge "$work/known" --learn "$work/other"
says "$work/err" "exclude each other"
sed 's/name: batch/name: a\/b/' "$work/s.yaml" >"$work/slash.yaml"
expect 2 sim "$work/slash.yaml" --learn "$work/other"
says "$work/err" "without '/'"
finish
