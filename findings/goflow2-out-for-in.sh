#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: of a record of NetFlow v9 with both counters, IN_PKTS (2) and OUT_PKTS (24), goflow2 gives the first as packets
#        of the flow, as it does if there is no second.
# Is:    it gives whichever the template has last, and the bytes (1 and 23) likewise: the same flow of 3 packets in and
#        5 out has 5 packets, and 3 with the fields in another order. Nothing keeps the other counter. IPFIX, whose
#        fields 23 and 24 count behind the observation point, is the same.
# Why:   exporters of two-way flows put the way back into OUT: its packets are counted for the way there. Two
#        exporters of one flow differ by the order in which they happen to write.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.24

require github.com/netsampler/goflow2/v2 v2.2.6
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	protoproducer "github.com/netsampler/goflow2/v2/producer/proto"
)

// printTotals prints packets and bytes of a flow of version 9 or 10 with the given fields of 4 bytes.
func printTotals(version uint16, fields ...uint16) {
	values := map[uint16]uint32{2: 3, 1: 300, 24: 5, 23: 500}
	header, template := []uint16{9, 2, 0, 9, 0, 9, 0, 1, 0, 7}, uint16(0)
	if version == 10 {
		header, template = []uint16{10, uint16(16 + 12 + 8*len(fields)), 0, 9, 0, 1, 0, 7}, 2
	}
	words := append(header, template, uint16(8+4*len(fields)), 256, uint16(len(fields)))
	for _, f := range fields {
		words = append(words, f, 4)
	}
	words = append(words, 256, uint16(4+4*len(fields)))
	for _, f := range fields {
		words = append(words, 0, uint16(values[f]))
	}
	m, _ := binary.Append(nil, binary.BigEndian, words)
	var nine netflow.NFv9Packet
	var ten netflow.IPFIXPacket
	if err := netflow.DecodeMessageVersion(bytes.NewBuffer(m), netflow.CreateTemplateSystem(), &nine, &ten); err != nil {
		log.Fatal(err)
	}
	samplers := protoproducer.CreateSamplingSystem()
	flows, err := protoproducer.ProcessMessageNetFlowV9Config(&nine, samplers, nil)
	if version == 10 {
		flows, err = protoproducer.ProcessMessageIPFIXConfig(&ten, samplers, nil)
	}
	if err != nil {
		log.Fatal(err)
	}
	f := flows[0].(*protoproducer.ProtoProducerMessage)
	fmt.Printf("%d and %d; ", f.Packets, f.Bytes)
}

func main() {
	for _, version := range []uint16{9, 10} {
		printTotals(version, 2, 1)
		printTotals(version, 2, 1, 24, 23)
		printTotals(version, 24, 23, 2, 1)
		printTotals(version, 2, 23, 24, 1)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "goflow2 v2.2.6 cannot be had"; exit 2; }
seen=$(go run .)
echo "goflow2 v2.2.6, packets and bytes of a flow of 3 and 300 in and 5 and 500 out: in alone, out behind in, in behind out, mixed, in NetFlow v9 and IPFIX: $seen"
[ "$seen" = "3 and 300; 5 and 500; 3 and 300; 5 and 300; 3 and 300; 5 and 500; 3 and 300; 5 and 300; " ]
