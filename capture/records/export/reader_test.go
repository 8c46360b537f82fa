// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

const (
	routerA = "203.0.113.1:2055"
	routerB = "203.0.113.2:2055"
	second  = int64(time.Second)
)

// datagramOf is a message that an exporter sent.
func datagramOf(from string, at int64, data []byte) exporttest.Datagram {
	return exporttest.Datagram{From: from, At: at, Data: data}
}

// read decodes messages of an exporter, a second apart.
func read(t testing.TB, messages ...[]byte) ([]records.Batch, records.Counts) {
	t.Helper()
	var all []exporttest.Datagram
	for i, m := range messages {
		all = append(all, datagramOf(routerA, (1000+int64(i))*second, m))
	}
	r := NewReader(&exporttest.Wire{Datagrams: all})
	return exporttest.ReadAll(t, r), r.Counts()
}

// wantFlow is what a record of a flow has, whatever the protocol.
func wantFlow(t *testing.T, b *records.Batch, i int, f exporttest.Flow) {
	t.Helper()
	r := &b.Records[i]
	if f.Protocol == icmp4 {
		f.SourcePort = 0
	}
	got := exporttest.Flow{
		Source: r.Source.String(), Destination: r.Destination.String(), SourcePort: r.SourcePort, DestinationPort: r.DestinationPort,
		Protocol: r.Protocol, Packets: r.Packets, Bytes: r.Bytes, First: f.First, Last: f.Last,
	}
	if got != f || r.Unmatched {
		t.Errorf("record %d: %+v, want %+v", i, got, f)
	}
	if r.TOS != 0x20 || r.Ingress != 3 || r.Egress != 4 {
		t.Errorf("record %d: type of service %#x, interfaces %d and %d", i, r.TOS, r.Ingress, r.Egress)
	}
}

// TestProtocols reads the same flows out of each protocol.
func TestProtocols(t *testing.T) {
	template := exporttest.Template(256, exporttest.UsualTemplate...)
	v9 := append(append(exporttest.Head9(4, 10000, 900, 5, 77), exporttest.Set(0, template)...), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))...)
	ipfix := exporttest.IPFIX(900, 5, 77, exporttest.Set(2, template), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...)))
	const exported = 900 * second
	cases := []struct {
		name      string
		message   []byte
		kind      records.Kind
		domain    uint32
		sampling  uint32
		start     int64
		precision time.Duration
		at, size  int // of the first record
	}{
		{"v5", exporttest.V5(10000, 900, 5, 1, exporttest.Flows...), records.NetFlow5, 1<<8 | 2, 100, exported + 5 - 9*second, time.Millisecond, 24, 48},
		{"v5 of whole seconds", exporttest.V5(10000, 900, 0, 1, exporttest.Flows...), records.NetFlow5, 1<<8 | 2, 100, exported - 9*second, time.Second, 24, 48},
		{"v9", v9, records.NetFlow9, 77, 0, exported - 9*second, time.Second, 20 + 4 + len(template) + 4, 45},
		{"ipfix", ipfix, records.IPFIX, 77, 0, 0, 0, 16 + 4 + len(template) + 4, 45},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, n := read(t, c.message)
			if len(all) != 1 || len(all[0].Records) != len(exporttest.Flows) || n.Records != 3 || n.Undecodable != 0 {
				t.Fatalf("%d batches, %+v", len(all), n)
			}
			b := &all[0]
			if b.Kind != c.kind || b.From != netip.MustParseAddrPort(routerA) || !slices.Equal(b.Raw, c.message) {
				t.Fatalf("a message of kind %d from %v", b.Kind, b.From)
			}
			for i, f := range exporttest.Flows {
				wantFlow(t, b, i, f)
				r := &b.Records[i]
				if want := (records.Point{Exporter: b.From.Addr(), Domain: c.domain}); r.Point != want {
					t.Errorf("point %+v, want %+v", r.Point, want)
				}
				if at := c.at + i*c.size; r.Offset != at || r.Length != c.size {
					t.Errorf("record %d: %d bytes at %d, want %d at %d", i, r.Length, r.Offset, c.size, at)
				}
				if r.Sampling != c.sampling || r.Exported/second != 900 || r.Received != 1000*second {
					t.Errorf("record %d: sampling %d, exported %d", i, r.Sampling, r.Exported)
				}
			}
			if r := &b.Records[0]; r.Start != c.start || r.Precision != c.precision {
				t.Errorf("start %d, not %d; precision %v, not %v", r.Start, c.start, r.Precision, c.precision)
			}
		})
	}
}

// TestFields reads each field that a record has a place for.
func TestFields(t *testing.T) {
	at := time.Date(2026, 11, 23, 1, 2, 3, 500e6, time.UTC)
	ntp := func(t time.Time) []byte {
		return exporttest.Words(uint32(t.Unix()+2208988800), uint32(uint64(t.Nanosecond())<<32/1e9)+1)
	}
	long := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	both := func(r *records.Record) [4]uint64 {
		if !r.Both {
			return [4]uint64{}
		}
		return [4]uint64{r.Bytes, r.Packets, r.ReverseBytes, r.ReversePackets}
	}
	six := exporttest.Address("2001:db8::1")
	cases := []struct {
		name   string
		fields [][3]uint32
		record []byte
		want   func(r *records.Record) bool
	}{
		{"IPv6", [][3]uint32{{27, 16}, {28, 16}}, append(slices.Clone(six), exporttest.Address("2001:db8::2")...),
			func(r *records.Record) bool {
				return r.Source.String() == "2001:db8::1" && r.Destination.String() == "2001:db8::2"
			}},
		{"both families", [][3]uint32{{8, 4}, {27, 16}}, append(make([]byte, 4), six...),
			func(r *records.Record) bool { return r.Source.String() == "2001:db8::1" }},
		{"both families, the other way", [][3]uint32{{8, 4}, {27, 16}}, append(exporttest.Address("192.0.2.1"), make([]byte, 16)...),
			func(r *records.Record) bool { return r.Source.String() == "192.0.2.1" }},
		{"a tunnel", [][3]uint32{{27, 16}, {28, 16}, {4, 1}, {8, 4}, {12, 4}, {4, 1}, {7, 2}, {11, 2}},
			slices.Concat(six, six, []byte{43}, exporttest.Address("192.0.2.1"), exporttest.Address("192.0.2.2"), []byte{6, 0, 80, 1, 187}),
			func(r *records.Record) bool {
				return r.Source.String() == "192.0.2.1" && r.Destination.String() == "192.0.2.2" && r.Protocol == 6 && r.SourcePort == 80 && r.DestinationPort == 443
			}},
		{"IPv4 in IPv6", [][3]uint32{{27, 16}}, exporttest.Address("::ffff:192.0.2.1"),
			func(r *records.Record) bool { return r.Source == netip.MustParseAddr("192.0.2.1") }},
		{"no address", [][3]uint32{{56, 6}, {2, 4}}, make([]byte, 10), func(r *records.Record) bool { return r.Unmatched }},
		{"zero addresses", [][3]uint32{{8, 4}, {12, 4}}, make([]byte, 8), func(r *records.Record) bool { return r.Unmatched }},
		{"reduced size", [][3]uint32{{1, 3}, {2, 5}}, []byte{1, 2, 3, 0, 0, 0, 1, 0},
			func(r *records.Record) bool { return r.Bytes == 0x010203 && r.Packets == 256 }},
		{"totals", [][3]uint32{{85, 8}, {86, 8}}, append(long(7), long(8)...),
			func(r *records.Record) bool { return r.Bytes == 7 && r.Packets == 8 }},
		{"initiator", [][3]uint32{{231, 8}, {298, 8}, {232, 8}, {299, 8}}, slices.Concat(long(7), long(8), long(70), long(80)),
			func(r *records.Record) bool { return both(r) == [4]uint64{7, 8, 70, 80} }},
		{"reverse of a biflow", [][3]uint32{{1, 4}, {1, 4, 29305}, {2, 4, 29305}}, exporttest.Words(7, 70, 80),
			func(r *records.Record) bool { return both(r) == [4]uint64{7, 0, 70, 80} }},
		{"reverse totals of a biflow", [][3]uint32{{85, 8}, {86, 8}, {85, 8, 29305}, {86, 8, 29305}}, slices.Concat(long(7), long(8), long(70), long(80)),
			func(r *records.Record) bool { return both(r) == [4]uint64{7, 8, 70, 80} }},
		{"reverse deltas before totals", [][3]uint32{{1, 4, 29305}, {85, 8, 29305}}, append(exporttest.Words(70), long(700)...),
			func(r *records.Record) bool { return both(r) == [4]uint64{0, 0, 70, 0} }},
		{"a biflow without an answer", [][3]uint32{{1, 4}, {1, 4, 29305}, {2, 4, 29305}}, exporttest.Words(7, 0, 0),
			func(r *records.Record) bool { return !r.Both && r.Bytes == 7 }},
		{"other reverse elements", [][3]uint32{{8, 4, 29305}, {7, 2, 29305}, {1, 4, 6871}, {7, 2}}, append(exporttest.Words(1, 0x00020003), 0, 1, 0, 80),
			func(r *records.Record) bool { return !r.Both && !r.Source.IsValid() && r.SourcePort == 80 }},
		{"enterprise", [][3]uint32{{8, 4, 9}, {7, 2}}, append(exporttest.Words(1), 0, 80),
			func(r *records.Record) bool { return !r.Source.IsValid() && r.SourcePort == 80 }},
		{"ICMP by type and code", [][3]uint32{{4, 1}, {176, 1}, {177, 1}, {7, 2}}, []byte{1, 3, 1, 9, 9},
			func(r *records.Record) bool { return r.SourcePort == 0 && r.DestinationPort == 3<<8|1 }},
		{"ICMPv6", [][3]uint32{{4, 1}, {139, 2}}, []byte{58, 128, 0},
			func(r *records.Record) bool { return r.DestinationPort == 128<<8 }},
		{"ICMP in the source port", [][3]uint32{{4, 1}, {7, 2}, {11, 2}}, []byte{1, 8, 0, 0, 0},
			func(r *records.Record) bool { return r.SourcePort == 0 && r.DestinationPort == 8<<8 }},
		{"VLAN, VRF, direction", [][3]uint32{{58, 2}, {234, 4}, {61, 1}}, append([]byte{0xf0, 42}, append(exporttest.Words(7), 1)...),
			func(r *records.Record) bool {
				return r.VLAN == 42 && r.VRF == 7 && r.Direction == records.DirectionEgress
			}},
		{"observation point", [][3]uint32{{138, 8}}, long(7), func(r *records.Record) bool { return r.Observation == 7 }},
		{"observation point of 64 bits", [][3]uint32{{138, 8}}, long(7<<32 | 2), func(r *records.Record) bool { return r.Observation == 5 }},
		{"translation", [][3]uint32{{225, 4}, {226, 4}, {227, 2}, {228, 2}}, append(exporttest.Words(0xc0000201, 0xc0000202), 0, 80, 1, 187),
			func(r *records.Record) bool {
				return r.NATSource.String() == "192.0.2.1" && r.NATDestination.String() == "192.0.2.2" && r.NATSourcePort == 80 && r.NATDestinationPort == 443
			}},
		{"seconds", [][3]uint32{{150, 4}, {151, 4}}, exporttest.Words(100, 110),
			func(r *records.Record) bool {
				return r.Start == 100*second && r.End == 110*second && r.Precision == time.Second
			}},
		{"milliseconds", [][3]uint32{{152, 8}, {161, 4}}, append(long(1500), exporttest.Words(250)...),
			func(r *records.Record) bool {
				return r.Start == 1500e6 && r.End == 1750e6 && r.Precision == time.Millisecond
			}},
		{"NTP", [][3]uint32{{154, 8}, {157, 8}}, append(ntp(at), ntp(at)...),
			func(r *records.Record) bool { return r.Start == at.UnixNano() && r.End == r.Start }},
		{"before the export", [][3]uint32{{158, 4}, {159, 4}}, exporttest.Words(2e6, 1e6),
			func(r *records.Record) bool { return r.Start == 898*second && r.End == 899*second }},
		{"event", [][3]uint32{{323, 8}}, long(1500), func(r *records.Record) bool { return r.Start == 1500e6 && r.End == 1500e6 }},
		{"a time out of range", [][3]uint32{{152, 8}}, long(1 << 63), func(r *records.Record) bool { return r.Start == 0 }},
		{"exporter's start", [][3]uint32{{160, 8}, {22, 4}, {21, 4}}, append(long(800e3), exporttest.Words(5000, 6000)...),
			func(r *records.Record) bool { return r.Start == 805*second && r.End == 806*second }},
		{"exporter's start, wrapped", [][3]uint32{{160, 8}, {22, 4}}, append(long(800e3), exporttest.Words(1<<32-5000)...),
			func(r *records.Record) bool { return r.Start == 795*second }},
		{"interval", [][3]uint32{{34, 4}}, exporttest.Words(500), func(r *records.Record) bool { return r.Sampling == 500 }},
		{"1 of 1000", [][3]uint32{{305, 4}, {306, 4}}, exporttest.Words(1, 999), func(r *records.Record) bool { return r.Sampling == 1000 }},
		{"n of N", [][3]uint32{{309, 4}, {310, 4}}, exporttest.Words(2, 1000), func(r *records.Record) bool { return r.Sampling == 500 }},
		{"exporter", [][3]uint32{{130, 4}, {149, 4}}, exporttest.Words(0x0a000001, 9),
			func(r *records.Record) bool {
				return r.Point == records.Point{Exporter: netip.MustParseAddr("10.0.0.1"), Domain: 9}
			}},
		{"variable length", [][3]uint32{{82, 0xffff}, {7, 2}, {82, 0xffff}, {11, 2}},
			slices.Concat([]byte{3, 'a', 'b', 'c', 0, 80, 255, 0, 2, 'x', 'y'}, []byte{1, 187}),
			func(r *records.Record) bool { return r.SourcePort == 80 && r.DestinationPort == 443 && r.Length == 13 }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, n := read(t, exporttest.IPFIX(900, 0, 0, exporttest.Set(2, exporttest.Template(300, c.fields...)), exporttest.Set(300, c.record)))
			if len(all) != 1 || len(all[0].Records) == 0 || n.Undecodable != 0 {
				t.Fatalf("%d batches, %+v", len(all), n)
			}
			if r := &all[0].Records[0]; !c.want(r) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestUptime turns times since the start of an exporter into dates, around the wrap of their
// 32 bits.
func TestUptime(t *testing.T) {
	for _, c := range []struct {
		now, then uint32
		ago       time.Duration
	}{
		{10000, 4000, 6 * time.Second},
		{4000, 1<<32 - 1000, 5 * time.Second}, // the clock wrapped meanwhile
		{10000, 12000, -2 * time.Second},      // ahead of the header
		{1<<32 - 1, 1 << 31, (1<<31 - 1) * time.Millisecond},
	} {
		if got := ago(c.now, c.then); got != int64(c.ago) {
			t.Errorf("%d ms before %d: %v, want %v", c.then, c.now, time.Duration(got), c.ago)
		}
	}
}

// TestSFlowTunnels reads samples of packets in tunnels: the ends of the tunnel, and inside.
func TestSFlowTunnels(t *testing.T) {
	var samples [][]byte
	for _, f := range exporttest.Flows {
		samples = append(samples, exporttest.TunnelSample(f, "203.0.113.50", "203.0.113.51", 512))
	}
	message := exporttest.SFlow("203.0.113.9", 4, 1, 100, samples...)
	for _, inner := range []bool{false, true} {
		r := NewReader(&exporttest.Wire{Datagrams: []exporttest.Datagram{datagramOf(routerA, second, message)}})
		if inner {
			r.OpenTunnels(nil)
		}
		all := exporttest.ReadAll(t, r)
		if len(all) != 1 || len(all[0].Records) != len(exporttest.Flows) {
			t.Fatalf("%d batches", len(all))
		}
		for i, f := range exporttest.Flows {
			one, source := all[0].Records[i], "203.0.113.50"
			if inner {
				source = f.Source
			}
			if one.Source.String() != source || inner && (one.Protocol != f.Protocol || one.SourcePort != f.SourcePort) {
				t.Errorf("inner %v: %+v", inner, one)
			}
		}
	}
}

// TestSFlow reads samples with headers of packets, and with only addresses.
func TestSFlow(t *testing.T) {
	f := exporttest.Flows[0]
	counters := exporttest.Block(2, exporttest.Words(1, 3, 0))
	unknown := exporttest.Block(4095<<12|1, exporttest.Words(1, 2, 3))
	short := exporttest.Block(sampleFlow, exporttest.Words(7, 3))
	all, n := read(t, exporttest.SFlow("203.0.113.9", 4, 1, 100, counters, exporttest.RawSample(f, 512), unknown, short, exporttest.IPSample(f, 64)))
	if len(all) != 1 || len(all[0].Records) != 2 || n.Undecodable != 1 {
		t.Fatalf("%d batches, %+v", len(all), n)
	}
	for i, want := range []records.Record{
		{Sampling: 512, Bytes: 1500, VLAN: 42, Direction: records.DirectionIngress},
		{Sampling: 64, Bytes: 1400, Direction: records.DirectionEgress},
	} {
		r := all[0].Records[i]
		f.Packets, f.Bytes = 1, want.Bytes
		wantFlow(t, &all[0], i, f)
		if r.Sampling != want.Sampling || r.VLAN != want.VLAN || r.TCPFlags != 0x12 || r.Direction != want.Direction {
			t.Errorf("sample %d: %+v", i, r)
		}
		if want := (records.Point{Exporter: netip.MustParseAddr("203.0.113.9"), Domain: 4}); r.Point != want {
			t.Errorf("point %+v, want %+v", r.Point, want)
		}
		if r.Start != 1000*second || r.Exported != r.Received {
			t.Errorf("times %d, %d", r.Start, r.Exported)
		}
	}
	if r := all[0].Records[0]; r.Offset != 28+len(counters) || r.Length != len(exporttest.RawSample(f, 512)) {
		t.Errorf("sample at %d", r.Offset)
	}
}

// TestInterfaces reads interfaces of sFlow: none, one, and other kinds.
func TestInterfaces(t *testing.T) {
	for _, c := range []struct {
		expanded bool
		words    []uint32
		want     uint32
	}{
		{false, []uint32{7}, 7}, {false, []uint32{0x3fffffff}, 0}, {false, []uint32{1<<30 | 7}, 0}, {false, []uint32{2<<30 | 2}, 0},
		{true, []uint32{0, 1 << 31}, 1 << 31}, {true, []uint32{0, 0x3fffffff}, 0}, {true, []uint32{1, 7}, 0},
	} {
		x := xdr{p: exporttest.Words(c.words...)}
		if got := readInterface(&x, c.expanded); got != c.want || len(x.p) != 0 || x.short {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestSampling finds the interval of a record in the options of its exporter.
func TestSampling(t *testing.T) {
	options9 := slices.Concat([]byte{1, 4, 0, 4, 0, 8}, exporttest.Fields([3]uint32{1, 4}, [3]uint32{48, 1}, [3]uint32{50, 2}), []byte{0, 0})
	data := func(sequence uint32, sampler byte) []byte {
		f := exporttest.UsualRecord(exporttest.Flows[0])
		f[40] = sampler
		return append(exporttest.Head9(1, 0, 900, sequence, 0), exporttest.Set(256, f)...)
	}
	interval := func(sequence uint32, id byte, n uint16) []byte {
		return append(exporttest.Head9(1, 0, 900, sequence, 0), exporttest.Set(260, exporttest.Words(0), []byte{id, byte(n >> 8), byte(n)})...)
	}
	head := slices.Concat(exporttest.Head9(2, 0, 900, 0, 0), exporttest.Set(0, exporttest.Template(256, exporttest.UsualTemplate...)), exporttest.Set(1, options9))
	all, n := read(t, head, data(1, 9), interval(2, 9, 1000), interval(3, 8, 50), data(4, 9), data(5, 8), data(6, 7))
	var got []uint32
	for _, b := range all {
		for _, r := range b.Records {
			got = append(got, r.Sampling)
		}
	}
	if want := []uint32{0, 1000, 50, 0}; !slices.Equal(got, want) || n.Undecodable != 0 || n.Lost != 0 {
		t.Errorf("%d, want %d: %+v", got, want, n)
	}
	if len(all[0].Records) != 0 {
		t.Error("templates have records")
	}
}

// TestTemplates follows templates that change, go and come.
func TestTemplates(t *testing.T) {
	two := func(a, b [3]uint32) []byte { return exporttest.Set(2, exporttest.Template(256, a, b)) }
	data := exporttest.Set(256, []byte{0, 1, 0, 2})
	ports := [2][3]uint32{{7, 2}, {11, 2}}
	withdraw := exporttest.Set(2, []byte{1, 0, 0, 0})
	withdrawAll := exporttest.Set(2, []byte{0, 2, 0, 0})
	all, n := read(t,
		exporttest.IPFIX(900, 0, 0, two(ports[0], ports[1]), data),
		exporttest.IPFIX(901, 1, 0, two(ports[0], ports[1])), // again
		exporttest.IPFIX(901, 1, 0, two(ports[1], ports[0])), // changed
		exporttest.IPFIX(902, 1, 0, data),
		exporttest.IPFIX(903, 2, 0, withdraw),
		exporttest.IPFIX(904, 2, 0, data), // waits
		exporttest.IPFIX(905, 3, 0, two(ports[0], ports[1])),
		exporttest.IPFIX(906, 3, 0, withdrawAll),
		exporttest.IPFIX(907, 3, 0, data), // for ever
	)
	var got []string
	for _, b := range all {
		for _, r := range b.Records {
			got = append(got, fmt.Sprint(b.Records[0].Exported/second, " ", r.SourcePort, r.DestinationPort))
		}
	}
	if want := []string{"900 1 2", "902 2 1", "904 1 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n.Templates != 3 || n.Untemplated != 1 || n.Waiting != 0 || n.Undecodable != 0 || n.Records != 3 {
		t.Errorf("%+v", n)
	}
}
