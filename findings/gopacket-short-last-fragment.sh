#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket's ip4defrag joins the fragments of a datagram whatever the length of the last fragment,
#        which RFC 791 allows to carry any number of bytes.
# Is:    a last fragment with 1 to 7 bytes is an error ("fragment too small (handcrafted?)"). The minimum
#        of 8 bytes holds for all fragments but the last.
# Why:   seven of each 1,480 lengths that a large datagram may have end in such a fragment. It is
#        never joined, so behind a link with a smaller MTU it is no copy of the whole datagram.
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

	"github.com/google/gopacket/ip4defrag"
	"github.com/google/gopacket/layers"
)

// fragment returns a fragment of UDP with size bytes of payload.
func fragment(offset, size int, flags layers.IPv4Flag) *layers.IPv4 {
	packet := &layers.IPv4{
		Version: 4, IHL: 5, Length: uint16(20 + size), Id: 7, Protocol: layers.IPProtocolUDP, Flags: flags, FragOffset: uint16(offset / 8),
		SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2},
	}
	packet.Payload = make([]byte, size)
	return packet
}

func main() {
	for _, last := range []int{7, 8} {
		defrag := ip4defrag.NewIPv4Defragmenter()
		if _, err := defrag.DefragIPv4(fragment(0, 1480, layers.IPv4MoreFragments)); err != nil {
			panic(err)
		}
		whole, err := defrag.DefragIPv4(fragment(1480, last, 0))
		switch {
		case err != nil:
			fmt.Println("error")
		case whole != nil && len(whole.Payload) == 1480+last:
			fmt.Println("joined")
		}
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
seen=$(go run . | xargs)
echo "gopacket 1.1.19: datagrams with 7 and 8 bytes in the last fragment, expected to be joined: $seen"
[ "$seen" = "error joined" ]
