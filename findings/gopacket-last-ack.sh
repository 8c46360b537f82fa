#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: gopacket's reassembly makes a stream for each TCP connection: for a hundred connections that begin and
#        end as TCP does, it asks the factory for a hundred streams.
# Is:    it asks for two hundred. With the second FIN the connection is forgotten, and the ACK of this FIN,
#        the last segment of nearly each connection, begins a stream without a byte.
# Why:   who counts connections by their streams counts each twice, and the number falls to the truth if a
#        capture loses the last segment. A copy of the last segments adds no more, so it is no sign of copies.
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

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/reassembly"
)

type stream struct{ bytes int }

func (*stream) Accept(*layers.TCP, gopacket.CaptureInfo, reassembly.TCPFlowDirection, reassembly.Sequence, *bool, reassembly.AssemblerContext) bool {
	return true
}

func (s *stream) ReassembledSG(data reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	bytes, _ := data.Lengths()
	s.bytes += bytes
}

func (*stream) ReassemblyComplete(reassembly.AssemblerContext) bool { return true }

type factory struct{ streams []*stream }

func (f *factory) New(_, _ gopacket.Flow, _ *layers.TCP, _ reassembly.AssemblerContext) reassembly.Stream {
	f.streams = append(f.streams, &stream{})
	return f.streams[len(f.streams)-1]
}

// streams returns how many streams a hundred connections have, and how many of these have bytes.
func streams(segments int) (all, full int) {
	var made factory
	assembler := reassembly.NewAssembler(reassembly.NewStreamPool(&made))
	client, server := layers.NewIPEndpoint([]byte{10, 0, 0, 1}), layers.NewIPEndpoint([]byte{10, 0, 0, 2})
	for connection := range 100 {
		port := layers.TCPPort(40000 + connection)
		request := layers.TCP{SrcPort: port, DstPort: 80, Seq: 1001, Ack: 5001, ACK: true, PSH: true}
		request.Payload = []byte("request")
		for _, tcp := range []layers.TCP{
			{SrcPort: port, DstPort: 80, Seq: 1000, SYN: true},
			{SrcPort: 80, DstPort: port, Seq: 5000, Ack: 1001, SYN: true, ACK: true},
			{SrcPort: port, DstPort: 80, Seq: 1001, Ack: 5001, ACK: true},
			request,
			{SrcPort: port, DstPort: 80, Seq: 1008, Ack: 5001, FIN: true, ACK: true},
			{SrcPort: 80, DstPort: port, Seq: 5001, Ack: 1009, FIN: true, ACK: true},
			{SrcPort: port, DstPort: 80, Seq: 1009, Ack: 5002, ACK: true},
		}[:segments] {
			from, to := client, server
			if tcp.SrcPort == 80 {
				from, to = server, client
			}
			flow, err := gopacket.FlowFromEndpoints(from, to)
			if err != nil {
				panic(err)
			}
			tcp.SetInternalPortsForTesting()
			assembler.Assemble(flow, &tcp)
		}
	}
	assembler.FlushAll()
	for _, s := range made.streams {
		if s.bytes > 0 {
			full++
		}
	}
	return len(made.streams), full
}

func main() {
	all, full := streams(7)
	short, _ := streams(6)
	fmt.Printf("%d streams, %d with bytes; without the last segment of each %d\n", all, full, short)
}
GO
go mod tidy >/dev/null 2>&1 || { echo "gopacket 1.1.19 cannot be had"; exit 2; }
seen=$(go run .)
echo "gopacket 1.1.19, of 100 connections: $seen"
[ "$seen" = "200 streams, 100 with bytes; without the last segment of each 100" ]
