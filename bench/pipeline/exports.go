// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
)

var be = binary.BigEndian

// exportKinds are the formats of flow records that are measured.
var exportKinds = []kind{
	{name: "v5", title: "NetFlow v5"}, {name: "v9", title: "NetFlow v9"}, {name: "ipfix", title: "IPFIX"},
	{name: "sflow", title: "sFlow, 128 bytes of each sampled packet"}, {name: "ndjson", title: "NDJSON as goflow2 writes it"},
}

// perMessage is how many records of a format a datagram has.
var perMessage = map[string]int{"v5": 30, "v9": 28, "ipfix": 26, "sflow": 6, "ndjson": 1}

// exportFields are the information elements of a record of NetFlow v9 and of IPFIX, and their
// lengths in bytes. The times differ.
var exportFields = [][2]uint16{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {6, 1}, {10, 4}, {14, 4}, {1, 4}, {2, 4}}

const exported = 1_700_000_000 // seconds since 1970, when the first message was sent

// exporter is one of two exporters, each of which reports every flow.
type exporter struct {
	number   byte
	sequence uint32
}

// flowOf is a flow of random ends.
type flowOf struct {
	src, dst     [4]byte
	sport, dport uint16
	packets      uint32
}

func randomFlow(rng *rand.Rand) flowOf {
	f := flowOf{sport: uint16(1024 + rng.IntN(60000)), dport: []uint16{443, 53}[rng.IntN(2)], packets: uint32(1 + rng.IntN(20))}
	f.src, f.dst = [4]byte{10, 0, byte(rng.Uint32()), byte(rng.Uint32())}, [4]byte{172, 16, byte(rng.Uint32()), byte(rng.Uint32())}
	return f
}

// writeExports writes a file of a format in which two exporters report each of so many flows: a
// capture of their datagrams, or lines.
func writeExports(name, format string, flows int) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out, rng := bufio.NewWriter(file), rand.New(rand.NewPCG(1, 2))
	if format != "ndjson" {
		head := []byte{0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4}
		_, _ = out.Write(be.AppendUint32(append(head, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 1)) // Flush returns errors
	}
	both := [2]exporter{{number: 1}, {number: 2}}
	var all []flowOf
	for at, sent := 0, 0; at < flows; at += len(all) {
		all = all[:0]
		for range min(perMessage[format], flows-at) {
			all = append(all, randomFlow(rng))
		}
		for i := range both {
			e, micros := &both[i], sent*20
			if format == "ndjson" {
				e.writeLine(out, &all[0])
				continue
			}
			if at == 0 && (format == "v9" || format == "ipfix") {
				writeDatagram(out, micros, e.number, e.message(format, nil))
			}
			writeDatagram(out, micros, e.number, e.message(format, all))
			sent++
		}
	}
	return out.Flush()
}

// writeDatagram writes a record of a capture. From behind the headers, of 42 bytes, on it is a message.
func writeDatagram(out *bufio.Writer, micros int, exporter byte, message []byte) {
	n := len(message)
	p := be.AppendUint32(nil, uint32(exported+micros/1e6))
	for _, v := range []int{micros % 1e6, 42 + n, 42 + n} {
		p = be.AppendUint32(p, uint32(v))
	}
	p = append(p, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0)
	p = append(be.AppendUint16(p, uint16(28+n)), 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, exporter, 192, 0, 2, 200)
	for _, v := range []int{40000, 2055, 8 + n, 0} {
		p = be.AppendUint16(p, uint16(v))
	}
	_, _ = out.Write(append(p, message...))
}

// message is a message with flows. Without flows it has the template.
func (e *exporter) message(format string, flows []flowOf) []byte {
	switch format {
	case "v5":
		p := be.AppendUint32([]byte{0, 5, 0, byte(len(flows))}, 3_600_000)
		p = append(appendWords(p, exported, 0, e.sequence), 0, 0, 0, 0)
		for i := range flows {
			p = flows[i].append5(p)
		}
		e.sequence += uint32(len(flows))
		return p
	case "sflow":
		e.sequence++
		p := appendWords(nil, 5, 1, 0xc0000200|uint32(e.number), 0, e.sequence, 1000, uint32(len(flows)))
		for i := range flows {
			p = flows[i].appendSample(p)
		}
		return p
	}
	set, times := e.set(format == "ipfix", flows), e.sequence
	if format == "ipfix" {
		e.sequence += uint32(len(flows))
		return append(appendWords([]byte{0, 10, byte((16 + len(set)) >> 8), byte(16 + len(set))}, exported, times, 1), set...)
	}
	e.sequence++
	return append(appendWords([]byte{0, 9, 0, byte(max(1, len(flows)))}, 3_600_000, exported, times, 1), set...)
}

// set is the set of a message of NetFlow v9 or IPFIX.
func (e *exporter) set(ipfix bool, flows []flowOf) []byte {
	fields, id, first := append(exportFields[:len(exportFields):len(exportFields)], [][2]uint16{{22, 4}, {21, 4}}...), 0, uint32(3_598_000)
	if ipfix {
		copy(fields[len(fields)-2:], [][2]uint16{{150, 4}, {151, 4}})
		id, first = 2, exported-2
	}
	p := []byte{0, byte(id), 0, 0}
	if flows == nil {
		p = be.AppendUint16(append(p, 1, 0), uint16(len(fields)))
		for _, f := range fields {
			p = be.AppendUint16(be.AppendUint16(p, f[0]), f[1])
		}
	} else {
		p[0], p[1] = 1, 0
	}
	for i := range flows {
		f := &flows[i]
		p = be.AppendUint16(be.AppendUint16(append(append(p, f.src[:]...), f.dst[:]...), f.sport), f.dport)
		p = appendWords(append(p, 6, 0x1b), uint32(e.number), 3, f.packets*500, f.packets, first, first+2)
	}
	be.PutUint16(p[2:], uint16(len(p)))
	return p
}

// append5 appends the flow as a record of NetFlow v5.
func (f *flowOf) append5(p []byte) []byte {
	p = append(append(append(p, f.src[:]...), f.dst[:]...), 0, 0, 0, 0, 0, 1, 0, 2)
	p = appendWords(p, f.packets, f.packets*500, 3_598_000, 3_600_000)
	p = be.AppendUint16(be.AppendUint16(p, f.sport), f.dport)
	return append(p, 0, 0x1b, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// appendSample appends a packet of the flow as a sample of sFlow.
func (f *flowOf) appendSample(p []byte) []byte {
	const header = 128
	p = appendWords(p, 1, 32+24+header, uint32(f.sport), 3, 1000, 1000, 0, 3, 4, 1, 1, 16+header, 1, 1518, 4, header)
	packet := make([]byte, header)
	copy(packet, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 5, 220, 0, 0, 0, 0, 64, 6})
	copy(packet[26:], f.src[:])
	copy(packet[30:], f.dst[:])
	be.PutUint16(packet[34:], f.sport)
	be.PutUint16(packet[36:], f.dport)
	packet[46] = 0x50
	return append(p, packet...)
}

// writeLine writes the flow as a line.
func (e *exporter) writeLine(out *bufio.Writer, f *flowOf) {
	fmt.Fprintf(out, `{"type":"NETFLOW_V9","time_received_ns":%d000000000,"sequence_num":1,"sampling_rate":0,"sampler_address":"192.0.2.%d",`+
		`"time_flow_start_ns":%d000000000,"time_flow_end_ns":%[3]d900000000,"bytes":%d,"packets":%d,"src_addr":"10.0.%d.%d","dst_addr":"172.16.%d.%d",`+
		`"etype":"IPv4","proto":"TCP","src_port":%d,"dst_port":%d,"in_if":1,"out_if":2,"tcp_flags":27}`+"\n",
		exported, e.number, exported-2, f.packets*500, f.packets, f.src[2], f.src[3], f.dst[2], f.dst[3], f.sport, f.dport)
}

func appendWords(p []byte, words ...uint32) []byte {
	for _, w := range words {
		p = be.AppendUint32(p, w)
	}
	return p
}
