#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket finds the mirrored frame in ERSPAN of type I, or says that it cannot read it. This
#        type has no header of its own; type II has 8 bytes, and a GRE sequence number shows it.
# Is:    it skips 8 bytes in both, without an error. The "frame" begins within the addresses of
#        the mirrored one, so it has hardware addresses that no station has, and no IP.
# Why:   old switches mirror with type I. Stations are counted that do not exist, and no packet of
#        the mirror equals the packet itself.
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

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

const (
	outer = "020000000002" + "020000000001" + "0800" + "4500000000010000402f0000" + "c0000201c0000202"
	inner = "02aaaaaaaaaa" + "02bbbbbbbbbb" + "0800" + "4500001c0001000040110000" + "0a0000010a000002" + "0035003500080000"
)

// mirrored returns the hardware addresses in the mirror, and whether IP was found in it.
func mirrored(gre string) string {
	raw, err := hex.DecodeString(outer + gre + inner)
	if err != nil {
		panic(err)
	}
	raw[17] = byte(len(raw) - 14)
	p := gopacket.NewPacket(raw, layers.LayerTypeEthernet, gopacket.Default)
	text := "none"
	behind := false
	for _, l := range p.Layers() {
		behind = behind || l.LayerType() == layers.LayerTypeGRE
		if frame, ok := l.(*layers.Ethernet); ok && behind {
			text = fmt.Sprintf("%v to %v", frame.SrcMAC, frame.DstMAC)
		}
		if l.LayerType() == layers.LayerTypeUDP {
			text += ", with UDP"
		}
	}
	if p.ErrorLayer() != nil {
		text += ", with an error"
	}
	return text
}

func main() {
	first, second := mirrored("000088be"), mirrored("100088be00000001"+"1000000000000000")
	fmt.Printf("gopacket 1.1.19: a frame from 02:bb:bb:bb:bb:bb to 02:aa:aa:aa:aa:aa\n  in type II: %s\n  in type I:  %s\n", second, first)
	if second != "02:bb:bb:bb:bb:bb to 02:aa:aa:aa:aa:aa, with UDP" || first != "45:00:00:1c:00:01 to bb:bb:bb:bb:08:00" {
		os.Exit(1)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
go run .
