#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: HyperLogLog of the npm package hyperloglog32 grows with the distinct addresses that it sees, and
#        never shrinks.
# Is:    with 4,096 registers it counts up to some 30,000 addresses well. Of 65,536 it counts 5,907, and of
#        any more the same. The loop that looks for the first 1 bit tests "hash & 0", so each
#        register is 0 or 1. Once all are 1, the estimate for that state is all it can say.
# Why:   the busier a network is, the quieter its report looks. An alarm for too many sources never comes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v npm >/dev/null || { echo "there is no npm"; exit 2; }
npm init -y >/dev/null 2>&1
npm install --silent hyperloglog32@1.0.0 >/dev/null 2>&1 || { echo "hyperloglog32 1.0.0 cannot be had"; exit 2; }
cat >main.js <<'JS'
const sketch = require('hyperloglog32')(12)
const seen = []
for (let i = 0; i < 200000; i++) {
  sketch.add(`10.${i >> 16}.${i >> 8 & 255}.${i & 255}`)
  if ([1000, 10000, 30000, 65536, 200000].includes(i + 1)) seen.push(`${sketch.count()} of ${i + 1}`)
}
console.log(seen.join(', '))
JS
seen=$(node --no-deprecation main.js)
echo "hyperloglog32 1.0.0: with an expected error of 2 % it counts $seen"
[ "$seen" = "1007 of 1000, 9904 of 10000, 31230 of 30000, 5907 of 65536, 5907 of 200000" ]
