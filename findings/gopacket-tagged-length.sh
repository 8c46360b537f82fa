#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket reads the frame behind a VLAN tag as it reads the frame without it. A frame of IEEE 802.3 has a
#        length where others have a type: spanning tree, IS-IS and IP in SNAP come so, tagged on trunks.
# Is:    without a tag it finds LLC, SNAP and what they carry. With a tag the packet ends at the tag: no LLC, no
#        payload and no error. The length is taken for a type that nobody knows, such as 36.
# Why:   what compares payloads sees none in a tagged 802.3 frame, so all frames of a station in a VLAN look
#        alike, and counts of protocols are lower on trunks than on access ports, though nothing failed.
set -euo pipefail
version=v1.1.19
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'GO'
package main

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

func main() {
	stations := "01000ccccccd" + "020000000001"
	for _, content := range []string{
		"0026" + "424203" + "0000020000" + "0000000000000000" + "00000000" + "8000000000000001" + "8001" + "0000" + "1400" + "0200" + "0f00", // spanning tree
		"0024" + "aaaa03" + "000000" + "0800" + "4500001c000100004011" + "66cd" + "0a000001" + "0a000002" + "03e807d000080000", // UDP in SNAP
	} {
		for _, tag := range []string{"", "81000005"} {
			frame, err := hex.DecodeString(stations + tag + content)
			if err != nil {
				panic(err)
			}
			frame = append(frame, make([]byte, 64-len(frame))...)
			p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
			names := []string{}
			for _, layer := range p.Layers() {
				names = append(names, layer.LayerType().String())
			}
			fmt.Printf("%s, error %v; ", strings.Join(names, " "), p.ErrorLayer() != nil)
		}
	}
}
GO
{ go mod init finding && go get "github.com/google/gopacket@$version"; } >/dev/null 2>&1 || { echo "gopacket $version cannot be had"; exit 2; }
seen=$(go run .)
echo "gopacket $version, spanning tree and UDP in SNAP, each without and with a tag: $seen"
[ "$seen" = 'Ethernet LLC STP, error false; Ethernet Dot1Q, error false; Ethernet LLC SNAP IPv4 UDP, error false; Ethernet Dot1Q, error false; ' ]
