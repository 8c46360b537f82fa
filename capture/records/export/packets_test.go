// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// packets delivers IP packets in a batch.
type packets struct {
	exporttest.Wire
	all  [][]byte
	read bool
}

func (s *packets) Next(b *capture.Batch) error {
	b.Reset()
	if s.read {
		return io.EOF
	}
	s.read = true
	number := b.AppendInterface(capture.Interface{LinkType: capture.LinkRaw})
	for i, p := range s.all {
		b.Append(capture.Frame{Time: int64(i+1) * second / 1000, Interface: number}, p)
	}
	return nil
}

// packetOf is the IP packet of a message.
func packetOf(message []byte, id uint16) []byte {
	p := encoding.AppendDatagram(nil, netip.MustParseAddrPort(routerA), message)
	binary.BigEndian.PutUint16(p[4:], id)
	return p
}

// fragmentsOf cuts an IPv4 packet into fragments that carry size bytes.
func fragmentsOf(packet []byte, size int) (all [][]byte) {
	for at := 20; at < len(packet); at += size {
		end := min(at+size, len(packet))
		f := append(bytes.Clone(packet[:20]), packet[at:end]...)
		field := uint16(at-20) / 8
		if end < len(packet) {
			field |= 1 << 13
		}
		binary.BigEndian.PutUint16(f[2:], uint16(len(f)))
		binary.BigEndian.PutUint16(f[6:], field)
		all = append(all, f)
	}
	return all
}

// message9 is a message of NetFlow v9 with n records, and its template.
func message9(n int) []byte {
	return sets9(0, 1, usualSet, exporttest.Set(256, bytes.Repeat(exporttest.UsualRecord(exporttest.Flows[0]), n)))
}

// TestFragments reads messages that came in IP fragments.
func TestFragments(t *testing.T) {
	whole := packetOf(message9(80), 1)
	parts := fragmentsOf(whole, 1480)
	again := fragmentsOf(packetOf(message9(80), 2), 1480)
	dns := fragmentsOf(packetOf(bytes.Repeat([]byte{1}, 2000), 3), 1480)
	cases := []struct {
		name    string
		packets [][]byte
		want    records.Counts
	}{
		{"in order", parts, records.Counts{Messages: 1, Records: 80, Reassembled: 1}},
		{"in another order", [][]byte{parts[2], parts[0], parts[1]}, records.Counts{Messages: 1, Records: 80, Reassembled: 1}},
		{"each twice", [][]byte{parts[0], parts[0], parts[1], parts[1], parts[2], parts[2]}, records.Counts{Messages: 2, Records: 80, Reassembled: 1, Replayed: 1}},
		{"sent twice", append(parts[:3:3], again...), records.Counts{Messages: 2, Records: 80, Reassembled: 2, Replayed: 1}},
		{"one lost", [][]byte{parts[0], parts[2]}, records.Counts{Fragments: 2}},
		{"no export", dns, records.Counts{Reassembled: 1, Foreign: 1}},
		{"no export, twice", append(dns[:2:2], dns...), records.Counts{Reassembled: 1, Foreign: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checkCounts(t, c.packets, c.want)
		})
	}
}

// checkCounts reads packets, and compares the counts of all but templates.
func checkCounts(t *testing.T, all [][]byte, want records.Counts) {
	t.Helper()
	r := NewReader(&packets{all: all})
	for _, b := range exporttest.ReadAll(t, r) {
		checkBatch(t, &b)
	}
	got := r.Counts()
	got.Templates = 0
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestCutMessages reads the records of a message that a capture has whole.
func TestCutMessages(t *testing.T) {
	record := len(exporttest.UsualRecord(exporttest.Flows[0]))
	v9 := packetOf(message9(80), 1)
	template := 20 + 8 + 20 + len(usualSet) + 4
	ipfix := packetOf(exporttest.IPFIX(900, 0, 1, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)),
		exporttest.Set(256, bytes.Repeat(exporttest.UsualRecord(exporttest.Flows[0]), 9))), 1)
	v5 := packetOf(exporttest.V5(0, 900, 0, 50, exporttest.Flows...), 1)
	cases := []struct {
		name   string
		packet []byte
		want   records.Counts
	}{
		{"v9", v9[:template+3*record+7], records.Counts{Messages: 1, Records: 3, Undecodable: 1}},
		{"v9 at the end of a record", v9[:template+3*record], records.Counts{Messages: 1, Records: 3, Undecodable: 1}},
		{"v9 in the first record", v9[:template+7], records.Counts{Messages: 1, Undecodable: 1}},
		{"v9, the first fragment", fragmentsOf(v9, 1480)[0][:template+5*record], records.Counts{Messages: 1, Records: 5, Undecodable: 1}},
		{"ipfix", ipfix[:template-4+4*record+9], records.Counts{Messages: 1, Records: 4, Undecodable: 1}},
		{"v5", v5[:20+8+24+48+20], records.Counts{Messages: 1, Records: 1, Undecodable: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checkCounts(t, [][]byte{c.packet}, c.want)
		})
	}
}

// FuzzFragments reads a message that is cut into fragments of any size, in any order.
func FuzzFragments(f *testing.F) {
	f.Add(message9(80), uint16(1480), uint8(1), false)
	f.Add(message9(3), uint16(64), uint8(7), true)
	f.Fuzz(func(t *testing.T, message []byte, size uint16, turn uint8, twice bool) {
		if len(message) < 9 || len(message) > 60000 {
			return
		}
		parts := fragmentsOf(packetOf(message, 1), max(int(size)&^7, len(message)/200&^7+8))
		n := int(turn) % len(parts)
		parts = append(parts[n:], parts[:n]...)
		if twice && len(parts) > 1 {
			parts = append(parts, parts...)
		}
		r, plain := NewReader(&packets{all: parts}), NewReader(&packets{all: [][]byte{packetOf(message, 1)}})
		all, want := exporttest.ReadAll(t, r), exporttest.ReadAll(t, plain)
		if len(all) != len(want) || len(all) > 0 && (!bytes.Equal(all[0].Raw, want[0].Raw) || len(all[0].Records) != len(want[0].Records)) {
			t.Fatalf("%d messages of %d fragments, want %d", len(all), len(parts), len(want))
		}
		if c := r.Counts(); c.Fragments != 0 {
			t.Fatalf("%+v", c)
		}
	})
}

// TestStream reads a stream of IPFIX messages, and says where it is damaged.
func TestStream(t *testing.T) {
	messages := [][]byte{
		exporttest.IPFIX(900, 0, 1, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))),
		exporttest.IPFIX(901, 3, 1, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))),
		exporttest.IPFIX(902, 6, 1, exporttest.Set(256, bytes.Repeat(exporttest.UsualRecords(exporttest.Flows...), 480))), // of 64,820 bytes
	}
	whole := slices.Concat(messages...)
	cases := []struct {
		name    string
		data    []byte
		records int
		err     error
		offset  int64
	}{
		{"whole", whole, 3 + 3 + 1440, nil, 0},
		{"cut short", whole[:len(whole)-1], 6, capture.ErrTruncated, int64(len(messages[0]) + len(messages[1]))},
		{"a header cut short", whole[:len(messages[0])+5], 3, capture.ErrTruncated, int64(len(messages[0]))},
		{"something else", append(slices.Clone(messages[0]), "something else, not IPFIX"...), 3, capture.ErrDamaged, int64(len(messages[0]))},
		{"nothing", nil, 0, nil, 0},
	}
	for _, c := range cases {
		for name, from := range map[string]netip.AddrPort{"file": {}, "IPv4": netip.MustParseAddrPort("192.0.2.1:4739"), "IPv6": netip.MustParseAddrPort("[2001:db8::1]:4739")} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				r := NewReader(NewStream(iotest.HalfReader(bytes.NewReader(c.data)), "flows.ipfix", from))
				n, err := readSome(r)
				var damage *capture.InputError
				if n != c.records || c.err == nil && err != io.EOF || c.err != nil && (!errors.Is(err, c.err) || !errors.As(err, &damage)) {
					t.Fatalf("%d records, not %d: %v", n, c.records, err)
				}
				if damage != nil && (damage.Offset != c.offset || damage.Input != "flows.ipfix") {
					t.Errorf("%v, not at %d", damage, c.offset)
				}
				if r.Counts().Foreign != 0 || r.Counts().Lost != 0 {
					t.Errorf("%+v", r.Counts())
				}
			})
		}
	}
}

// readSome returns the number of records until an error.
func readSome(r *Reader) (n int, err error) {
	for {
		var b records.Batch
		if err := r.ReadBatch(&b); err != nil {
			return n, err
		}
		n += len(b.Records)
	}
}
