#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: goflow2 gives a flow the rate of the sampler that its record names (field 48 of NetFlow v9). A
#        router tells the rates of all its samplers in options: here 1 in 100 for the first, 1 in 1,000
#        for the second.
# Is:    it keeps one rate for all records of a source, from the first of the options. Flows of the
#        second sampler have a rate of 100, too.
# Why:   routers sample fast interfaces less often than slow ones. The same flow, seen at both, has totals
#        that differ by a factor of ten, and neither the larger nor the smaller is right.
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

func words(values ...uint16) (b []byte) {
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}

func set(id uint16, content []byte) []byte {
	for len(content)%4 != 0 {
		content = append(content, 0)
	}
	return append(words(id, uint16(4+len(content))), content...)
}

func main() {
	sampler := func(id byte, oneIn uint32) []byte {
		return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1, id, 2}, oneIn)
	}
	flow := func(host, sampler byte) []byte {
		return []byte{10, 0, 0, host, 10, 0, 0, 9, 0, 0, 0, 5, sampler}
	}
	message := words(9, 6, 0, 1, 0x6900, 0, 0, 1, 0, 7) // version, sets, uptime, seconds, sequence, source
	message = append(message, set(1, words(257, 4, 12, 1, 4, 48, 1, 49, 1, 50, 4))...)
	message = append(message, set(257, append(sampler(1, 100), sampler(2, 1000)...))...)
	message = append(message, set(0, words(256, 4, 8, 4, 12, 4, 2, 4, 48, 1))...)
	message = append(message, set(256, append(flow(1, 1), flow(2, 2)...))...)
	var packet netflow.NFv9Packet
	if err := netflow.DecodeMessageVersion(bytes.NewBuffer(message), netflow.CreateTemplateSystem(), &packet, &netflow.IPFIXPacket{}); err != nil {
		log.Fatal(err)
	}
	flows, err := protoproducer.ProcessMessageNetFlowV9Config(&packet, protoproducer.CreateSamplingSystem(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range flows {
		f := m.(*protoproducer.ProtoProducerMessage)
		fmt.Printf("1 in %d ", f.SamplingRate)
	}
}
GO
go mod tidy >/dev/null 2>&1 || { echo "goflow2 v2.2.6 cannot be had"; exit 2; }
seen=$(go run .)
echo "goflow2 v2.2.6: flows of samplers of 1 in 100 and 1 in 1000 have $seen"
[ "$seen" = "1 in 100 1 in 100 " ]
