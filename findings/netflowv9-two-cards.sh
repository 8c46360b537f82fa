#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: node-netflowv9 knows templates by their exporter and source id, as RFC 3954 says: two cards of a
#        router, with source ids of their own, may use one template number for different templates.
# Is:    it knows them by address and port alone. The template of the second card replaces that of the
#        first, whose records are then read by it: here source and destination change places.
# Why:   both cards send from the one address of their router. Half of the flows run the wrong way, and a
#        flow and its copy of the other card are two different flows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v npm >/dev/null || { echo "there is no npm"; exit 2; }
npm init -y >/dev/null 2>&1
npm install --silent node-netflowv9@0.2.16 >/dev/null 2>&1 || { echo "node-netflowv9 0.2.16 cannot be had"; exit 2; }
cat >main.js <<'JS'
const NetFlowV9 = require('node-netflowv9')

const words = (...values) => Buffer.concat(values.map(v => Buffer.from([v >> 8, v & 255])))
const set = (id, content) => Buffer.concat([words(id, 4 + content.length), content])
const message = (source, ...sets) => Buffer.concat([words(9, sets.length, 0, 1, 0x6900, 0, 0, 1, 0, source), ...sets])

// Fields 8 and 12 are the source and destination address of IPv4.
const first = message(1, set(0, words(256, 2, 8, 4, 12, 4)))
const second = message(2, set(0, words(256, 2, 12, 4, 8, 4)))
const record = message(1, set(256, Buffer.from([10, 0, 0, 1, 10, 0, 0, 2])))

const collector = new NetFlowV9(() => {})
const router = { address: '192.0.2.1', port: 9995, size: 100 }
const flow = () => {
  const f = collector.nfPktDecode(record, router).flows[0]
  return `${f.ipv4_src_addr} to ${f.ipv4_dst_addr}`
}
collector.nfPktDecode(first, router)
const alone = flow()
collector.nfPktDecode(second, router)
console.log(`${alone}; with a second card ${flow()}`)
JS
seen=$(node main.js)
echo "node-netflowv9 0.2.16: a record of the first card is $seen"
[ "$seen" = "10.0.0.1 to 10.0.0.2; with a second card 10.0.0.2 to 10.0.0.1" ]
