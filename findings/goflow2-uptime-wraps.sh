#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: goflow2 gives flows of NetFlow v9 their times also when the uptime of the exporter, milliseconds in 32 bits,
#        begins again at 0, as it does each 49.7 days. Modulo 2^32 the difference to the uptime of the export is right.
# Is:    a flow from before the wrap, exported behind it, is 49.7 days in the future. A flow across the wrap
#        starts in the future and ends now.
# Why:   each router wraps at another time. For some minutes a flow and its copy from another router are 49.7 days
#        apart, and a window that follows the latest time that it has seen forgets all others.
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
	"time"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	protoproducer "github.com/netsampler/goflow2/v2/producer/proto"
)

const exported = 1700000000 // 2023-11-14 22:13:20, in seconds

// printTimes prints the times of a flow whose message was exported at an uptime. All uptimes are in milliseconds.
func printTimes(uptime, first, last uint32) {
	var m []byte
	for _, v := range []uint16{9, 2} { // version, records
		m = binary.BigEndian.AppendUint16(m, v)
	}
	for _, v := range []uint32{uptime, exported, 1, 7} {
		m = binary.BigEndian.AppendUint32(m, v)
	}
	for _, v := range []uint16{0, 20, 256, 3, 22, 4, 21, 4, 2, 4} { // first, last, packets
		m = binary.BigEndian.AppendUint16(m, v)
	}
	m = append(m, 1, 0, 0, 16)
	for _, v := range []uint32{first, last, 3} {
		m = binary.BigEndian.AppendUint32(m, v)
	}
	var packet netflow.NFv9Packet
	if err := netflow.DecodeMessageVersion(bytes.NewBuffer(m), netflow.CreateTemplateSystem(), &packet, &netflow.IPFIXPacket{}); err != nil {
		log.Fatal(err)
	}
	flows, err := protoproducer.ProcessMessageNetFlowV9Config(&packet, protoproducer.CreateSamplingSystem(), nil)
	if err != nil {
		log.Fatal(err)
	}
	f := flows[0].(*protoproducer.ProtoProducerMessage)
	for _, ns := range []uint64{f.TimeFlowStartNs, f.TimeFlowEndNs} {
		fmt.Printf("%.0f ", time.Unix(0, int64(ns)).Sub(time.Unix(exported, 0)).Seconds())
	}
}

func main() {
	printTimes(20000, 5000, 15000)                  // all behind the wrap
	printTimes(5000, 1<<32-10000, 1<<32-5000)       // the flow before it
	printTimes(5000, 1<<32-10000, 2000)             // the flow across it
	printTimes(1<<32-1000, 1<<32-16000, 1<<32-6000) // all before it
}
GO
go mod tidy >/dev/null 2>&1 || { echo "goflow2 v2.2.6 cannot be had"; exit 2; }
seen=$(go run .)
echo "goflow2 v2.2.6, s from the export to start and end of flows; expected -15 -5 -15 -10 -15 -3 -15 -5: $seen"
[ "$seen" = "-15 -5 4294952 4294957 4294952 -3 -15 -5 " ]
