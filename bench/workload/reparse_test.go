// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

type stored struct {
	time  int64
	frame []byte
}

func readPcap(t *testing.T, file []byte) (all []stored) {
	t.Helper()
	word := binary.LittleEndian.Uint32
	if word(file) != 0xA1B23C4D || word(file[20:]) != 1 {
		t.Fatalf("bad file header % x", file[:24])
	}
	for rest := file[24:]; len(rest) > 0; {
		n := int(word(rest[8:]))
		time := int64(word(rest))*1e9 + int64(word(rest[4:]))
		all = append(all, stored{time, rest[16 : 16+n]})
		rest = rest[16+n:]
	}
	return all
}

func readPcapNG(t *testing.T, file []byte) (all []stored) {
	t.Helper()
	word := binary.LittleEndian.Uint32
	for rest := file; len(rest) > 0; {
		length := word(rest[4:])
		if length%4 != 0 || word(rest[length-4:]) != length {
			t.Fatalf("block %d has lengths %d and %d", len(all), length, word(rest[length-4:]))
		}
		if word(rest) == 6 {
			time := int64(word(rest[12:]))<<32 | int64(word(rest[16:]))
			all = append(all, stored{time, rest[28 : 28+word(rest[20:])]})
		}
		rest = rest[length:]
	}
	return all
}

// TestReparse decodes workloads with gopacket, checks every checksum, and counts
// independently the numbers of Truth.
func TestReparse(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
	}{
		{"default", func(*Config) {}},
		{"64 bytes, half IPv6", func(c *Config) { c.Size, c.IPv6 = 64, 0.5 }},
		{"shortest, IPv4", func(c *Config) { c.Size, c.IPv6 = minSize, 0 }},
		{"bimodal", func(c *Config) { c.Size = Bimodal }},
		{"odd, IPv6", func(c *Config) { c.Size, c.IPv6 = 1513, 1 }},
		{"one flow", func(c *Config) { c.Flows = 1 }},
		{"equal flows, many copies", func(c *Config) { c.Zipf, c.Duplicates, c.Repeats = 0, 0.6, 0.2 }},
		{"crowded, long window", func(c *Config) { c.Duration, c.Window = 8*time.Second, time.Second/2 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small(test.change)
			file, truth := generate(t, c)
			checkTruth(t, readPcap(t, file), truth, c)
		})
	}
}

func checkTruth(t *testing.T, all []stored, want Truth, c Config) {
	t.Helper()
	sorted := slices.IsSortedFunc(all, func(a, b stored) int { return int(a.time - b.time) })
	if !sorted || int64(len(all)) != c.Packets || want.Packets != c.Packets {
		t.Fatalf("%d packets in order: %t, truth %d, want %d", len(all), sorted, want.Packets, c.Packets)
	}
	got := Truth{First: time.Unix(0, all[0].time).UTC(), Last: time.Unix(0, all[len(all)-1].time).UTC()}
	kept := make(map[string]int64)
	hours := make(map[time.Time]counts)
	whole := make(counts)
	packets := make(map[time.Time]int64)
	for _, one := range all {
		d := decode(t, one.frame)
		got.Bytes += int64(len(one.frame))
		if before, ok := kept[d.identity]; ok && one.time-before <= int64(c.Window) {
			got.Duplicates++
		} else {
			kept[d.identity] = one.time
		}
		hour := time.Unix(0, one.time).UTC().Truncate(time.Hour)
		if hours[hour] == nil {
			hours[hour] = make(counts)
		}
		packets[hour]++
		hours[hour].add(d)
		whole.add(d)
	}
	if got.Bytes != want.Bytes || got.Duplicates != want.Duplicates || got.First != want.First || got.Last != want.Last {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
	if whole.families() != want.Whole {
		t.Errorf("whole: parsed %+v, want %+v", whole.families(), want.Whole)
	}
	checkHours(t, hours, packets, want.Hours)
}

func checkHours(t *testing.T, hours map[time.Time]counts, packets map[time.Time]int64, want []Hour) {
	t.Helper()
	var got []Hour
	for _, start := range slices.SortedFunc(maps.Keys(hours), time.Time.Compare) {
		got = append(got, Hour{start, packets[start], hours[start].families()})
	}
	if !slices.Equal(got, want) {
		t.Errorf("hours: parsed %+v, want %+v", got, want)
	}
}

// decoded is a frame as gopacket decodes it.
type decoded struct {
	identity  string // the datagram without hop limit, traffic class and header checksum
	src, dst  string
	fiveTuple string
	v6        bool
}

func decode(t *testing.T, frame []byte) decoded {
	t.Helper()
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
	network, transport := packet.NetworkLayer(), packet.TransportLayer()
	if network == nil || transport == nil { // payloads are random: gopacket's decoding of them does not matter
		t.Fatalf("undecodable frame % x", frame)
	}
	checkChecksum(t, network, transport)
	d := decoded{
		src: network.NetworkFlow().Src().String(),
		dst: network.NetworkFlow().Dst().String(),
	}
	d.fiveTuple = network.NetworkFlow().String() + transport.TransportFlow().String() + transport.LayerType().String()
	masked := append(bytes.Clone(network.LayerContents()), network.LayerPayload()...)
	if header, ok := network.(*layers.IPv4); ok {
		if int(header.Length) != len(masked) || ^fold(sumWords(header.Contents)) != 0 {
			t.Fatalf("bad IPv4 header % x", header.Contents)
		}
		masked[1], masked[8], masked[10], masked[11] = 0, 0, 0, 0
	} else {
		d.v6 = true
		masked[0], masked[1], masked[7] = 0x60, 0, 0
	}
	d.identity = string(masked)
	return d
}

func checkChecksum(t *testing.T, network gopacket.NetworkLayer, transport gopacket.TransportLayer) {
	t.Helper()
	var sum uint16
	var err error
	switch header := transport.(type) {
	case *layers.TCP:
		err = header.SetNetworkLayerForChecksum(network)
		if err == nil {
			sum, err = header.ComputeChecksum()
		}
	case *layers.UDP:
		sum, err = udpChecksum(header, network)
	}
	if err != nil || sum != 0 {
		t.Fatalf("transport checksum off by %#x (%v)", sum, err)
	}
}

// udpChecksum lets gopacket serialize the datagram with its own checksum, and returns the
// difference.
func udpChecksum(header *layers.UDP, network gopacket.NetworkLayer) (uint16, error) {
	again := layers.UDP{SrcPort: header.SrcPort, DstPort: header.DstPort}
	if err := again.SetNetworkLayerForChecksum(network); err != nil {
		return 0, err
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, &again, gopacket.Payload(header.Payload)); err != nil {
		return 0, err
	}
	if again.Checksum == 0 {
		again.Checksum = 0xFFFF // as it must be sent (RFC 768)
	}
	return again.Checksum ^ header.Checksum, nil
}

// counts holds the distinct values of each kind.
type counts map[string]map[string]bool

func (c counts) add(d decoded) {
	family := "4"
	if d.v6 {
		family = "6"
	}
	for what, value := range map[string]string{"src": d.src, "dst": d.dst, "flow": d.fiveTuple} {
		if c[what+family] == nil {
			c[what+family] = make(map[string]bool)
		}
		c[what+family][value] = true
	}
}

func (c counts) families() Families {
	by := func(family string) Distinct {
		return Distinct{int64(len(c["src"+family])), int64(len(c["dst"+family])), int64(len(c["flow"+family]))}
	}
	return Families{IPv4: by("4"), IPv6: by("6")}
}
