#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a host that leaves segments to its network card has datagrams in its captures that state a
#        length of 0, in IPv4 and in IPv6 alike. gopacket reads both, or neither.
# Is:    it reads those of IPv4 to the end of the frame, and fails on those of IPv6: no TCP.
# Why:   who keys flows with it counts a transfer over IPv4 as a flow, and does not see the same one
#        over IPv6. Linux writes such IPv6 datagrams since BIG TCP (5.19).
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
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

const (
	ethernet = "020000000002" + "020000000001"
	ipv4     = "0800" + "4500000000010000400600000a0000010a000002"
	ipv6     = "86dd" + "6000000000000640" + "20010db8000000000000000000000001" + "20010db8000000000000000000000002"
	tcp      = "03e801bb00000005000000015018ffff00000000" + "6162636465666768"
)

// layersOf returns the layers that gopacket finds in a frame, and its error.
func layersOf(frame string) string {
	raw, err := hex.DecodeString(frame)
	if err != nil {
		panic(err)
	}
	p := gopacket.NewPacket(raw, layers.LayerTypeEthernet, gopacket.Default)
	var names []string
	for _, l := range p.Layers() {
		names = append(names, l.LayerType().String())
	}
	text := strings.Join(names, " ")
	if p.ErrorLayer() != nil {
		text += ": " + p.ErrorLayer().Error().Error()
	}
	return text
}

func main() {
	first, second := layersOf(ethernet+ipv4+tcp), layersOf(ethernet+ipv6+tcp)
	fmt.Printf("gopacket 1.1.19: TCP in datagrams that state a length of 0\n  IPv4: %s\n  IPv6: %s\n", first, second)
	if first != "Ethernet IPv4 TCP Payload" || !strings.HasPrefix(second, "Ethernet IPv6 DecodeFailure: ") {
		os.Exit(1)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
go run .
