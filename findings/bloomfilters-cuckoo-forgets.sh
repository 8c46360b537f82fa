#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a cuckoo filter of the npm package bloom-filters, made by create() for 1,000 elements, knows all of
#        1,000 that it took: add() returned true for each.
# Is:    it does not know 363 of them. To make room, add() moves an element from its row to its other row,
#        and calculates that from the row number after the division by the number of rows. has() calculates
#        it before the division, and looks elsewhere.
# Why:   a filter "without false negatives" passes each third copy of a packet as new. While it is half
#        empty hardly any element moves, so a short test finds nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v npm >/dev/null || { echo "there is no npm"; exit 2; }
npm init -y >/dev/null 2>&1
npm install --silent bloom-filters@3.0.4 >/dev/null 2>&1 || { echo "bloom-filters 3.0.4 cannot be had"; exit 2; }
cat >main.js <<'JS'
const { CuckooFilter } = require('bloom-filters')

// unknown returns how many of count elements, which the filter all took, it does not know.
const unknown = (filter, count) => {
  const elements = Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
  if (!elements.every(e => filter.add(e))) throw new Error('refused')
  return elements.filter(e => !filter.has(e)).length
}
console.log([250, 500, 750, 1000].map(count => `${unknown(CuckooFilter.create(1000, 0.001), count)} of ${count}`).join(', '))
JS
seen=$(node main.js)
echo "bloom-filters 3.0.4: elements taken and unknown, expected 0: $seen"
[ "$seen" = "0 of 250, 1 of 500, 33 of 750, 363 of 1000" ]
