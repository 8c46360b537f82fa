// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// shape describes a frame. Each field has few values, so that frames differ in some
// fields and agree in others.
type shape struct {
	kind                                                 uint8 // UDP or TCP over IPv4 or IPv6; others
	tags, vlan, mac, host, ttl, id, sum, port, load, seq uint8
	ring                                                 uint8 // what IEC 62439-3 adds: nothing, HSR tag, PRP trailer
	trailer                                              uint8 // bytes behind the datagram
	cut                                                  uint8 // bytes that the wire had and the capture has not
}

const (
	kindUDP = iota
	kindTCP
	kindUDP6
	kindTCP6
	kindARP
	kindGOOSE // short, so that stations pad it; states its length
	kindMRP   // long enough
	kindSTP   // 802.2 with a length
	kinds
)

func randomShape(rng *rand.Rand) shape {
	var s shape
	for range 12 {
		s.mutate(rng)
	}
	return s
}

// mutate sets one field to a random value, possibly the same.
func (s *shape) mutate(rng *rand.Rand) {
	bit := uint8(rng.IntN(2))
	switch rng.IntN(14) {
	case 0:
		s.kind = uint8(rng.IntN(kinds))
	case 1:
		s.tags = uint8(rng.IntN(3))
	case 2:
		s.trailer = 3 * bit
	case 3:
		s.cut = 9 * bit
	case 4:
		s.ring = uint8(rng.IntN(3))
	default:
		fields := []*uint8{&s.vlan, &s.mac, &s.host, &s.ttl, &s.id, &s.sum, &s.port, &s.load, &s.seq}
		*fields[rng.IntN(len(fields))] = bit
	}
}

func (s *shape) bytes() []byte {
	f := []byte{2, 0, 0, 0, 0, 1 + s.mac, 2, 0, 0, 0, 1, 1 + s.mac}
	for i := range s.tags {
		if i == 0 && s.tags == 2 {
			f = append(f, 0x88, 0xa8, 0, 7)
			continue
		}
		f = append(f, 0x81, 0x00, s.ttl<<5, 10+s.vlan) // with a priority
	}
	if s.ring == 1 {
		f = append(f, 0x89, 0x2f, s.id<<4, 100, 0, s.ttl)
	}
	at := len(f) + 2 // of the payload
	switch s.kind {
	case kindGOOSE:
		f = append(f, 0x88, 0xb8, 0, s.port, 0, 17, 0, 0, 0, 0, 0x61, s.load, 0, 0, s.host, 0, 0, s.seq, 0)
	case kindMRP:
		f = append(append(f, 0x88, 0xe3, 0, s.port, s.seq), make([]byte, 43+s.load)...)
	case kindSTP:
		f = append(f, 0, 9+s.load, 0x42, 0x42, 3, 0, 0, s.host, s.port, s.seq, 0, 0)[:at+9+int(s.load)]
	case kindARP:
		f = append(f, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1, 1, 2, 3, 4, 5, 6, 10, 0, 0, s.host, 0, 0, 0, 0, 0, 0, 10, 0, 0, s.port)
	case kindUDP, kindTCP:
		f = append(f, 0x08, 0x00)
		f = append(f, s.ipv4(s.transport())...)
	default:
		f = append(f, 0x86, 0xdd)
		f = append(f, s.ipv6(s.transport())...)
	}
	f = append(f, make([]byte, s.trailer)...)
	if s.ring == 2 {
		f = append(f, 0, s.ttl, 0xa0|s.id<<4, byte(len(f)-at+6), 0x88, 0xfb)
	}
	return f
}

// UDPFrame returns a frame that differs from others in its port and in its last byte.
func UDPFrame(port, load uint8) []byte {
	return (&shape{kind: kindUDP, port: port, load: load}).bytes()
}

func (s *shape) transport() []byte {
	payload := []byte{'p', 'a', 'y', 'l', 'o', 'a', 'd', s.load}
	if s.kind == kindUDP || s.kind == kindUDP6 {
		return append([]byte{4, 0, 0, 53 + s.port, 0, 16, 0x11, s.sum}, payload...)
	}
	// With another checksum comes another maximum segment size, as where a router lowers it in a segment with SYN.
	flags := [2]byte{0x18, 0x02}[s.load]
	return append([]byte{4, 0, 0, 80 + s.port, 0, 0, s.seq, 1, s.seq, 0, 0, 2, 0x60, flags, 16, 0, 0x22, s.sum, 0, 0, 2, 4, 5, s.sum}, payload...)
}

func (s *shape) ipv4(payload []byte) []byte {
	proto := map[uint8]byte{kindUDP: 17, kindTCP: 6}[s.kind]
	ip := []byte{0x45, s.ttl << 2, 0, 0, 9, s.id, 0x40 * s.ttl, 0, 64 - s.ttl, proto, 0x33, s.ttl, 10, 0, s.host, 1, 10, 0, 9, 1 + s.port}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(payload)))
	return append(ip, payload...)
}

func (s *shape) ipv6(payload []byte) []byte {
	proto := map[uint8]byte{kindUDP6: 17, kindTCP6: 6}[s.kind]
	ip := make([]byte, 40)
	copy(ip, []byte{0x60, s.ttl << 5, 0, s.id, 0, byte(len(payload)), proto, 64 - s.ttl, 0xfd})
	ip[8+7], ip[8+15] = s.host, 1
	ip[24], ip[24+15] = 0xfd, 1+s.port
	return append(ip, payload...)
}

// Seen is a frame with its capture point and time.
type Seen struct {
	Record
	Iface int
}

// RandomStream returns a stream in time order. About half of its frames resemble any of the few
// frames before.
func RandomStream(rng *rand.Rand, n, ifaces int, step time.Duration) []Seen {
	now := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC)
	shapes := make([]shape, 0, n)
	out := make([]Seen, 0, n)
	for i := range n {
		s := randomShape(rng)
		if i > 0 && rng.IntN(3) > 0 {
			s = shapes[max(0, i-1-rng.IntN(6))]
			for range rng.IntN(3) {
				s.mutate(rng)
			}
		}
		shapes = append(shapes, s)
		now = now.Add(time.Duration(rng.Int64N(int64(step/time.Microsecond))) * time.Microsecond)
		data := s.bytes()
		out = append(out, Seen{Record{now.UnixNano(), uint32(len(data)) + uint32(s.cut), string(data)}, rng.IntN(ifaces)})
	}
	return out
}

// WriteStream makes a pcapng file of a stream, with interfaces named point0 and up.
func WriteStream(t *testing.T, stream []Seen, ifaces int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.pcapng")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ether := func(i int) pcapgo.NgInterface {
		return pcapgo.NgInterface{LinkType: layers.LinkTypeEthernet, TimestampResolution: 9, Name: fmt.Sprint("point", i)}
	}
	w, err := pcapgo.NewNgWriterInterface(f, ether(0), pcapgo.NgWriterOptions{})
	for i := 1; i < ifaces && err == nil; i++ {
		_, err = w.AddInterface(ether(i))
	}
	for i := 0; i < len(stream) && err == nil; i++ {
		p := &stream[i]
		err = w.WritePacket(gopacket.CaptureInfo{
			Timestamp: time.Unix(0, p.Time), CaptureLength: len(p.Data), Length: int(p.Wire), InterfaceIndex: p.Iface,
		}, []byte(p.Data))
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// ReadStream reads a bundled pcapng file with gopacket.
func ReadStream(t *testing.T, name string) []Seen {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	var out []Seen
	for {
		data, info, err := r.ReadPacketData()
		if err != nil {
			return out // the caller sees if it came too early
		}
		out = append(out, Seen{Record{info.Timestamp.UnixNano(), uint32(info.Length), string(data)}, info.InterfaceIndex})
	}
}

// TagsOf returns the number of VLAN tags of a frame.
func TagsOf(f []byte) int {
	n := 0
	for t := binary.BigEndian.Uint16(f[12:]); t == 0x8100 || t == 0x88a8; t = binary.BigEndian.Uint16(f[12+4*n:]) {
		n++
	}
	return n
}

// PayloadAt returns where the payload begins, behind VLAN tags.
func PayloadAt(f []byte) int {
	at := 14 + 4*TagsOf(f)
	if binary.BigEndian.Uint16(f[at-2:]) == 0x892f {
		at += 6
	}
	return at
}
