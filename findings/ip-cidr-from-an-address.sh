#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: the npm package ip-cidr, asked for the addresses of 10.0.0.5/24 from 10.0.0.8 to 10.0.0.10, returns
#        10.0.0.8 and 10.0.0.9, as it does for 10.0.0.0/24. start() and end() are the same for both.
# Is:    it returns 10.0.0.3 and 10.0.0.4. It subtracts the address as it was written, 10.0.0.5, and adds the
#        start of the network. From 10.0.0.2 it returns 9.255.255.253, which is outside of the network. IPv6
#        is the same.
# Why:   "10.0.0.5/24" is how an interface is configured and printed. Who takes a part of a network by its
#        addresses, as a list to count or to leave out, gets other addresses, and for each host of the
#        network different ones. No error tells it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v npm >/dev/null || { echo "there is no npm"; exit 2; }
npm init -y >/dev/null 2>&1
npm install --silent ip-cidr@4.0.2 >/dev/null 2>&1 || { echo "ip-cidr 4.0.2 cannot be had"; exit 2; }
cat >main.mjs <<'JS'
import IPCIDR from 'ip-cidr'

const part = (network, from, to) => `${network} from ${from} to ${to}: ${new IPCIDR(network).toArray({ from, to }).join(' ')}`
console.log([
  part('10.0.0.0/24', '10.0.0.8', '10.0.0.10'),
  part('10.0.0.5/24', '10.0.0.8', '10.0.0.10'),
  part('10.0.0.5/24', '10.0.0.2', '10.0.0.4'),
  part('2001:db8::5/64', '2001:db8::8', '2001:db8::9'),
].join('\n'))
JS
seen=$(node main.mjs)
printf 'ip-cidr 4.0.2, expected from the first to before the last:\n%s\n' "$seen"
[ "$seen" = "10.0.0.0/24 from 10.0.0.8 to 10.0.0.10: 10.0.0.8 10.0.0.9
10.0.0.5/24 from 10.0.0.8 to 10.0.0.10: 10.0.0.3 10.0.0.4
10.0.0.5/24 from 10.0.0.2 to 10.0.0.4: 9.255.255.253 9.255.255.254
2001:db8::5/64 from 2001:db8::8 to 2001:db8::9: 2001:0db8:0000:0000:0000:0000:0000:0003" ]
