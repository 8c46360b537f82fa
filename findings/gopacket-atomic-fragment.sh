#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: an IPv6 packet with a fragment header of offset 0 and no more fragments is whole (RFC
#        6946 calls it an atomic fragment). gopacket reads the TCP header in it.
# Is:    it takes all behind any fragment header for an unreadable fragment: no ports.
# Why:   translators between IPv4 and IPv6 send such packets. In counts of flows all of them between
#        two hosts fall together.
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
	ethernet  = "020000000002" + "020000000001" + "86dd"
	addresses = "20010db8000000000000000000000001" + "20010db8000000000000000000000002"
	whole     = "60000000001c0640" + addresses
	atomic    = "6000000000242c40" + addresses + "0600000000000007"
	tcp       = "03e801bb00000005000000015018ffff00000000" + "6162636465666768"
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
	first, second := layersOf(ethernet+whole+tcp), layersOf(ethernet+atomic+tcp)
	fmt.Printf("gopacket 1.1.19: a TCP segment over IPv6\n  plain:              %s\n  an atomic fragment: %s\n", first, second)
	if first != "Ethernet IPv6 TCP Payload" || second != "Ethernet IPv6 IPv6Fragment Fragment" {
		os.Exit(1)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
go run .
