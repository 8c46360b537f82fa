#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket's Flow.FastHash, 64 bits of FNV-1a, differs for nearly all flows. Only a flow and its way
#        back have the same hash, as its text promises. Of 65,536 flows hardly two collide.
# Is:    all 65,536 flows from a network of 256 addresses to another have 511 hashes. FastHash adds the
#        hashes of both ends. The hashes of neighbours differ by their last byte times a constant, so only
#        the sum of two bytes is left. The same holds for ports: 400,000 pairs have 5,902 hashes.
# Why:   a map, a sketch or a filter that takes this hash for the flow counts 128 flows as a single flow, and
#        calls the packets of 127 copies. Neighbours are what a network consists of.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/google/gopacket v1.1.19
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// hashes returns how many flows lead from an endpoint to an endpoint, and how many hashes they have.
func hashes(from, to []gopacket.Endpoint) string {
	flows, different := 0, map[uint64]bool{}
	for _, a := range from {
		for _, b := range to {
			flow, err := gopacket.FlowFromEndpoints(a, b)
			if err != nil {
				panic(err)
			}
			different[flow.FastHash()] = true
			flows++
		}
	}
	return fmt.Sprintf("%d flows, %d hashes", flows, len(different))
}

func endpoints(count int, endpoint func(i int) gopacket.Endpoint) (all []gopacket.Endpoint) {
	for i := range count {
		all = append(all, endpoint(i))
	}
	return all
}

func main() {
	network := func(number byte) []gopacket.Endpoint {
		return endpoints(256, func(i int) gopacket.Endpoint { return layers.NewIPEndpoint([]byte{10, 0, number, byte(i)}) })
	}
	ports := func(first, count int) []gopacket.Endpoint {
		return endpoints(count, func(i int) gopacket.Endpoint { return layers.NewTCPPortEndpoint(layers.TCPPort(first + i)) })
	}
	fmt.Printf("addresses %s; ports %s; ports to a server %s\n", hashes(network(1), network(2)), hashes(ports(40000, 2000), ports(50000, 200)), hashes(ports(40000, 2000), ports(443, 1)))
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
seen=$(go run .)
echo "gopacket 1.1.19: $seen"
[ "$seen" = "addresses 65536 flows, 511 hashes; ports 400000 flows, 5902 hashes; ports to a server 2000 flows, 2000 hashes" ]
