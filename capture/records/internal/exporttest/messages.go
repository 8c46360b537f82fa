// SPDX-License-Identifier: Apache-2.0

// Package exporttest makes the messages of flow exporters for tests.
package exporttest

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

var be = binary.BigEndian

// Flow is a flow that test messages report.
type Flow struct {
	Source, Destination         string
	SourcePort, DestinationPort uint16
	Protocol                    uint8
	Packets, Bytes              uint64
	First, Last                 uint32 // since the exporter's start
}

var Flows = []Flow{
	{"192.0.2.1", "198.51.100.7", 40000, 443, 6, 10, 4000, 1000, 5000},
	{"192.0.2.2", "198.51.100.7", 40001, 53, 17, 1, 80, 2000, 2000},
	{"198.51.100.7", "192.0.2.1", 0, 8 << 8, 1, 3, 252, 2500, 4500},
}

func Address(s string) []byte { return netip.MustParseAddr(s).AsSlice() }

// Head9 begins a message of NetFlow v9.
func Head9(count uint16, uptime, seconds, sequence, domain uint32) []byte {
	p := be.AppendUint16(nil, 9)
	p = be.AppendUint16(p, count)
	for _, n := range []uint32{uptime, seconds, sequence, domain} {
		p = be.AppendUint32(p, n)
	}
	return p
}

// IPFIX is a message of IPFIX with the sets given.
func IPFIX(seconds, sequence, domain uint32, sets ...[]byte) []byte {
	p := be.AppendUint16(nil, 10)
	p = be.AppendUint16(p, 0)
	for _, n := range []uint32{seconds, sequence, domain} {
		p = be.AppendUint32(p, n)
	}
	for _, s := range sets {
		p = append(p, s...)
	}
	be.PutUint16(p[2:], uint16(len(p)))
	return p
}

// Set is a set with padding up to four bytes.
func Set(id uint16, content ...[]byte) []byte {
	p := padded(be.AppendUint16(be.AppendUint16(nil, id), 0), content...)
	be.PutUint16(p[2:], uint16(len(p)))
	return p
}

// padded appends content, and zeros up to four bytes.
func padded(p []byte, content ...[]byte) []byte {
	for _, c := range content {
		p = append(p, c...)
	}
	return append(p, make([]byte, -len(p)&3)...)
}

// Template is a template of fields: number, length, and an enterprise if it is not 0.
func Template(id uint16, fields ...[3]uint32) []byte {
	p := be.AppendUint16(nil, id)
	p = be.AppendUint16(p, uint16(len(fields)))
	return append(p, Fields(fields...)...)
}

func Fields(fields ...[3]uint32) (p []byte) {
	for _, f := range fields {
		if f[2] != 0 {
			p = be.AppendUint16(p, uint16(f[0])|1<<15)
		} else {
			p = be.AppendUint16(p, uint16(f[0]))
		}
		if p = be.AppendUint16(p, uint16(f[1])); f[2] != 0 {
			p = be.AppendUint32(p, f[2])
		}
	}
	return p
}

// UsualTemplate has 45 bytes a record.
var UsualTemplate = [][3]uint32{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {5, 1}, {6, 1}, {10, 4}, {14, 4}, {2, 4}, {1, 4}, {22, 4}, {21, 4}, {61, 1}, {48, 1}, {34, 4}}

// UsualRecord fits UsualTemplate.
func UsualRecord(f Flow) []byte {
	p := append(Address(f.Source), Address(f.Destination)...)
	p = be.AppendUint16(p, f.SourcePort)
	p = be.AppendUint16(p, f.DestinationPort)
	p = append(p, f.Protocol, 0x20, 0x1b)
	for _, n := range []uint32{3, 4, uint32(f.Packets), uint32(f.Bytes), f.First, f.Last} {
		p = be.AppendUint32(p, n)
	}
	p = append(p, 1, 9)
	return be.AppendUint32(p, 0)
}

// UsualRecords are records of flows.
func UsualRecords(flows ...Flow) (p []byte) {
	for _, f := range flows {
		p = append(p, UsualRecord(f)...)
	}
	return p
}

// V5 is a message of NetFlow v5.
func V5(uptime, seconds, nanoseconds, sequence uint32, flows ...Flow) []byte {
	p := be.AppendUint16(nil, 5)
	p = be.AppendUint16(p, uint16(len(flows)))
	for _, n := range []uint32{uptime, seconds, nanoseconds, sequence} {
		p = be.AppendUint32(p, n)
	}
	p = append(p, 1, 2)
	p = be.AppendUint16(p, 1<<14|100)
	for _, f := range flows {
		p = append(common(p, f), 0, 0x1b, f.Protocol, 0x20)
		p = append(p, make([]byte, 8)...)
	}
	return p
}

// V1 is a message of NetFlow v1, with size bytes for a record: 48 or 52.
func V1(uptime, seconds, nanoseconds uint32, size int, flows ...Flow) []byte {
	p := be.AppendUint16(nil, 1)
	p = be.AppendUint16(p, uint16(len(flows)))
	for _, n := range []uint32{uptime, seconds, nanoseconds} {
		p = be.AppendUint32(p, n)
	}
	for _, f := range flows {
		begin := len(p)
		p = append(common(p, f), 0, 0, f.Protocol, 0x20, 0x1b)
		p = append(p, make([]byte, size-(len(p)-begin))...)
	}
	return p
}

// V7 is a message of NetFlow v7.
func V7(uptime, seconds, nanoseconds, sequence uint32, flows ...Flow) []byte {
	p := be.AppendUint16(nil, 7)
	p = be.AppendUint16(p, uint16(len(flows)))
	for _, n := range []uint32{uptime, seconds, nanoseconds, sequence, 0} {
		p = be.AppendUint32(p, n)
	}
	for _, f := range flows {
		p = append(common(p, f), 0, 0x1b, f.Protocol, 0x20)
		p = append(p, make([]byte, 12)...)
	}
	return p
}

// common appends the common beginning of records of NetFlow v1, v5 and v7.
func common(p []byte, f Flow) []byte {
	p = append(p, Address(f.Source)...)
	p = append(p, Address(f.Destination)...)
	p = append(p, 0, 0, 0, 0, 0, 3, 0, 4)
	for _, n := range []uint32{uint32(f.Packets), uint32(f.Bytes), f.First, f.Last} {
		p = be.AppendUint32(p, n)
	}
	p = be.AppendUint16(p, f.SourcePort)
	return be.AppendUint16(p, f.DestinationPort)
}

// Words are numbers of 32 bits.
func Words(all ...uint32) (p []byte) {
	for _, n := range all {
		p = be.AppendUint32(p, n)
	}
	return p
}

// Block is a format and a length in front of content.
func Block(format uint32, content ...[]byte) []byte {
	p := padded(nil, content...)
	return append(Words(format, uint32(len(p))), p...)
}

// SFlow is a Datagram of sFlow.
func SFlow(agent string, sub, sequence, uptime uint32, samples ...[]byte) []byte {
	a := netip.MustParseAddr(agent)
	kind := uint32(1)
	if a.Is6() {
		kind = 2
	}
	p := append(Words(5, kind), a.AsSlice()...)
	p = append(p, Words(sub, sequence, uptime, uint32(len(samples)))...)
	for _, s := range samples {
		p = append(p, s...)
	}
	return p
}

// frameOf is an Ethernet frame with a VLAN tag and an IPv4 packet.
func frameOf(f Flow) []byte {
	p := append(make([]byte, 12), 0x81, 0, 0, 42, 8, 0)
	p = append(p, 0x45, 0x20, 0, 40, 0, 0, 0, 0, 64, f.Protocol, 0, 0)
	p = append(append(p, Address(f.Source)...), Address(f.Destination)...)
	p = be.AppendUint16(p, f.SourcePort)
	p = be.AppendUint16(p, f.DestinationPort)
	return append(p, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0)
}

// RawSample is a flow sample with the header of a packet.
func RawSample(f Flow, rate uint32) []byte { return rawSample(frameOf(f), rate) }

// TunnelSample is RawSample of a packet in GRE (RFC 2784), from one end to another.
func TunnelSample(f Flow, from, to string, rate uint32) []byte {
	inner := frameOf(f)[18:]
	outer := append(make([]byte, 12), 8, 0, 0x45, 0, 0, byte(24+len(inner)), 0, 0, 0, 0, 64, 47, 0, 0)
	outer = append(append(outer, Address(from)...), Address(to)...)
	return rawSample(append(append(outer, 0, 0, 8, 0), inner...), rate)
}

func rawSample(frame []byte, rate uint32) []byte {
	return Block(1, Words(7, 3, rate, 1000, 0, 3, 4, 1),
		Block(1, Words(1, 1500, 4, uint32(len(frame))), frame))
}

// IPSample is an expanded flow sample with only the addresses.
func IPSample(f Flow, rate uint32) []byte {
	return Block(3, Words(7, 0, 4, rate, 1000, 0, 0, 3, 0, 4, 1),
		Block(3, Words(1400, uint32(f.Protocol)), Address(f.Source), Address(f.Destination),
			Words(uint32(f.SourcePort), uint32(f.DestinationPort), 0x12, 0x20)))
}

// Shared returns the files of real exporters' messages next to the shared captures whose names
// match a pattern, or skips the test. It is for packages of capture/records.
func Shared(t testing.TB, pattern string) []string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "pcaps")
	}
	dir = filepath.Join(filepath.Dir(dir), "flows")
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skipf("no messages of exporters in %s; FLOWDEDUP_SHARED names the folder of captures beside it", dir)
	}
	return names
}
