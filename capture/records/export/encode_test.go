package export

import (
	"encoding/binary"
	"net/netip"
)

var be = binary.BigEndian

// flowSpec is a flow that test messages tell of.
type flowSpec struct {
	source, destination         string
	sourcePort, destinationPort uint16
	protocol                    uint8
	packets, bytes              uint64
	first, last                 uint32 // since the exporter's start
}

var someFlows = []flowSpec{
	{"192.0.2.1", "198.51.100.7", 40000, 443, 6, 10, 4000, 1000, 5000},
	{"192.0.2.2", "198.51.100.7", 40001, 53, 17, 1, 80, 2000, 2000},
	{"198.51.100.7", "192.0.2.1", 0, 8 << 8, 1, 3, 252, 2500, 4500},
}

func addressBytes(s string) []byte { return netip.MustParseAddr(s).AsSlice() }

// head9Of begins a message of NetFlow v9.
func head9Of(count uint16, uptime, seconds, sequence, domain uint32) []byte {
	p := be.AppendUint16(nil, 9)
	p = be.AppendUint16(p, count)
	for _, n := range []uint32{uptime, seconds, sequence, domain} {
		p = be.AppendUint32(p, n)
	}
	return p
}

// ipfixOf is a message of IPFIX with the sets given.
func ipfixOf(seconds, sequence, domain uint32, sets ...[]byte) []byte {
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

// setOf is a set with padding up to four bytes.
func setOf(id uint16, content ...[]byte) []byte {
	p := be.AppendUint16(nil, id)
	p = be.AppendUint16(p, 0)
	for _, c := range content {
		p = append(p, c...)
	}
	for len(p)%4 != 0 {
		p = append(p, 0)
	}
	be.PutUint16(p[2:], uint16(len(p)))
	return p
}

// templateOf is a template of fields: number, length, and an enterprise if it is not 0.
func templateOf(id uint16, fields ...[3]uint32) []byte {
	p := be.AppendUint16(nil, id)
	p = be.AppendUint16(p, uint16(len(fields)))
	return append(p, fieldsOf(fields...)...)
}

func fieldsOf(fields ...[3]uint32) (p []byte) {
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

// usualTemplate has 45 bytes a record.
var usualTemplate = [][3]uint32{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {5, 1}, {6, 1}, {10, 4}, {14, 4}, {2, 4}, {1, 4}, {22, 4}, {21, 4}, {61, 1}, {48, 1}, {34, 4}}

// usualRecord fits usualTemplate.
func usualRecord(f flowSpec) []byte {
	p := append(addressBytes(f.source), addressBytes(f.destination)...)
	p = be.AppendUint16(p, f.sourcePort)
	p = be.AppendUint16(p, f.destinationPort)
	p = append(p, f.protocol, 0x20, 0x1b)
	for _, n := range []uint32{3, 4, uint32(f.packets), uint32(f.bytes), f.first, f.last} {
		p = be.AppendUint32(p, n)
	}
	p = append(p, 1, 9)
	return be.AppendUint32(p, 0)
}

// usualRecords are records of flows.
func usualRecords(flows ...flowSpec) (p []byte) {
	for _, f := range flows {
		p = append(p, usualRecord(f)...)
	}
	return p
}

// v5Of is a message of NetFlow v5.
func v5Of(uptime, seconds, nanoseconds, sequence uint32, flows ...flowSpec) []byte {
	p := be.AppendUint16(nil, 5)
	p = be.AppendUint16(p, uint16(len(flows)))
	for _, n := range []uint32{uptime, seconds, nanoseconds, sequence} {
		p = be.AppendUint32(p, n)
	}
	p = append(p, 1, 2)
	p = be.AppendUint16(p, 1<<14|100)
	for _, f := range flows {
		p = append(p, addressBytes(f.source)...)
		p = append(p, addressBytes(f.destination)...)
		p = append(p, 0, 0, 0, 0, 0, 3, 0, 4)
		for _, n := range []uint32{uint32(f.packets), uint32(f.bytes), f.first, f.last} {
			p = be.AppendUint32(p, n)
		}
		p = be.AppendUint16(p, f.sourcePort)
		p = be.AppendUint16(p, f.destinationPort)
		p = append(p, 0, 0x1b, f.protocol, 0x20)
		p = append(p, make([]byte, 8)...)
	}
	return p
}

// words are numbers of 32 bits.
func words(all ...uint32) (p []byte) {
	for _, n := range all {
		p = be.AppendUint32(p, n)
	}
	return p
}

// block is a format and a length in front of content.
func block(format uint32, content ...[]byte) []byte {
	var p []byte
	for _, c := range content {
		p = append(p, c...)
	}
	for len(p)%4 != 0 {
		p = append(p, 0)
	}
	return append(words(format, uint32(len(p))), p...)
}

// sFlowOf is a datagram of sFlow.
func sFlowOf(agent string, sub, sequence, uptime uint32, samples ...[]byte) []byte {
	a := netip.MustParseAddr(agent)
	kind := uint32(1)
	if a.Is6() {
		kind = 2
	}
	p := append(words(5, kind), a.AsSlice()...)
	p = append(p, words(sub, sequence, uptime, uint32(len(samples)))...)
	for _, s := range samples {
		p = append(p, s...)
	}
	return p
}

// frameOf is an Ethernet frame with a VLAN tag and an IPv4 packet of TCP.
func frameOf(f flowSpec) []byte {
	p := append(make([]byte, 12), 0x81, 0, 0, 42, 8, 0)
	p = append(p, 0x45, 0x20, 0, 40, 0, 0, 0, 0, 64, f.protocol, 0, 0)
	p = append(append(p, addressBytes(f.source)...), addressBytes(f.destination)...)
	p = be.AppendUint16(p, f.sourcePort)
	p = be.AppendUint16(p, f.destinationPort)
	return append(p, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x12, 0, 0, 0, 0, 0, 0)
}

// rawSample is a flow sample with the header of a packet.
func rawSample(f flowSpec, rate uint32) []byte {
	frame := frameOf(f)
	return block(sampleFlow, words(7, 3, rate, 1000, 0, 3, 4, 1),
		block(flowRaw, words(1, 1500, 4, uint32(len(frame))), frame))
}

// ipSample is an expanded flow sample with the addresses alone.
func ipSample(f flowSpec, rate uint32) []byte {
	return block(sampleFlowExpanded, words(7, 0, 4, rate, 1000, 0, 0, 3, 0, 4, 1),
		block(flowIPv4, words(1400, uint32(f.protocol)), addressBytes(f.source), addressBytes(f.destination),
			words(uint32(f.sourcePort), uint32(f.destinationPort), 0x12, 0x20)))
}
