#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a filter of go-pcap (packetcap), "a string that matches the tcpdump syntax", selects what tcpdump
#        selects, or is refused. "icmp" selects ICMP, and "udp and not port 53" other UDP.
# Is:    "icmp" and "igmp" select every packet, also ARP, and "not icmp" none. The compiler has no
#        instructions for them, and leaves the two that end a program. "udp and not port 53" selects TCP and
#        ARP as well: "and" lets what is not UDP jump to the last instruction, and behind a "not" that
#        keeps. "host A and udp" selects all of the host. No error tells it. "udp port 53", "not port
#        53" and "udp and port 53" are right.
# Why:   the filter stands before the count. Duplicates, flows and bytes "of ICMP" are those of all packets,
#        and those of "not icmp" are 0. tcpdump of the same expression disagrees, and nothing fails.
set -euo pipefail
version=v0.0.0-20240528124601-8c87ecf5dbc5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<MOD
module finding

go 1.24

require github.com/packetcap/go-pcap $version
MOD
cat >main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"

	"github.com/packetcap/go-pcap/filter"
	"golang.org/x/net/bpf"
)

// frame returns an Ethernet frame with an IPv4 packet from 10.0.0.1 to 10.0.0.2. Without a protocol it has ARP.
func frame(protocol byte, from, to uint16) []byte {
	f := make([]byte, 60)
	if protocol == 0 {
		copy(f[12:], []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2})
		return f
	}
	copy(f[12:], []byte{8, 0, 0x45, 0, 0, 46})
	f[22], f[23] = 64, protocol
	copy(f[26:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(f[34:], from)
	binary.BigEndian.PutUint16(f[36:], to)
	return f
}

func main() {
	names := []string{"TCP", "UDP", "DNS", "ICMP", "ARP"}
	frames := [][]byte{frame(6, 4000, 80), frame(17, 4000, 5000), frame(17, 4000, 53), frame(1, 0x800, 0), frame(0, 0, 0)}
	for _, expression := range []string{"udp port 53", "not port 53", "udp and port 53", "icmp", "not icmp", "udp and not port 53", "host 10.0.0.1 and udp"} {
		program, err := filter.NewExpression(expression).Compile().Compile()
		if err != nil {
			panic(err)
		}
		machine, err := bpf.NewVM(program)
		if err != nil {
			panic(err)
		}
		fmt.Print(expression, ":")
		for i, f := range frames {
			if taken, err := machine.Run(f); err == nil && taken > 0 {
				fmt.Print(" ", names[i])
			}
		}
		fmt.Println()
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "go-pcap $version cannot be had"; exit 2; }
seen=$(go run .)
printf 'go-pcap %s: selected of TCP, UDP, DNS, ICMP and ARP:\n%s\n' "$version" "$seen"
echo "expected: icmp: ICMP; not icmp: all others; udp and not port 53: UDP; host 10.0.0.1 and udp: UDP DNS"
[ "$seen" = "udp port 53: DNS
not port 53: TCP UDP ICMP ARP
udp and port 53: DNS
icmp: TCP UDP DNS ICMP ARP
not icmp:
udp and not port 53: TCP UDP ICMP ARP
host 10.0.0.1 and udp: TCP UDP DNS ICMP ARP" ]
