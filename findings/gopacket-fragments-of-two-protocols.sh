#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket's ip4defrag puts fragments together that have the same addresses, identification
#        and protocol, as RFC 791 says. A host may count identifications for each protocol.
# Is:    the protocol does not matter: the first half of a UDP datagram and the second half of a TCP
#        segment become a TCP segment.
# Why:   a digest of the result is that of a packet that nobody has sent, the two that were sent are
#        missing, and their copies, in another order, are no copies.
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
	"bytes"
	"fmt"
	"log"

	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"
)

func main() {
	defrag := ip4defrag.NewIPv4Defragmenter()
	for _, half := range []struct {
		protocol layers.IPProtocol
		flags    layers.IPv4Flag
		at       uint16
	}{{layers.IPProtocolUDP, layers.IPv4MoreFragments, 0}, {layers.IPProtocolTCP, 0, 800 / 8}} {
		packet := &layers.IPv4{
			Version: 4, IHL: 5, Length: 20 + 800, Id: 7, Protocol: half.protocol, Flags: half.flags, FragOffset: half.at,
			SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2},
		}
		packet.Payload = bytes.Repeat([]byte{byte(half.protocol)}, 800)
		whole, err := defrag.DefragIPv4(packet)
		if err != nil {
			log.Fatal(err)
		}
		if whole == nil {
			fmt.Printf("%v: nothing; ", half.protocol)
			continue
		}
		fmt.Printf("%v: %v of %d bytes, the first of protocol %d, the last of %d\n", half.protocol, whole.Protocol, len(whole.Payload), whole.Payload[0], whole.Payload[1599])
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
seen=$(go run .)
echo "gopacket 1.1.19, halves of two packets: $seen"
[ "$seen" = "UDP: nothing; TCP: TCP of 1600 bytes, the first of protocol 17, the last of 6" ]
