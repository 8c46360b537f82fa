// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// randomBytes returns n random bytes.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// sums are what anonymisers and network cards leave in IPv4's checksum.
var sums = []struct {
	name string
	set  func(ip []byte)
}{
	{"right", func(ip []byte) { summed(ip) }},
	{"wrong", func(ip []byte) { summed(ip); ip[10], ip[11] = ip[10]^0x13, ip[11]^0x57 }},
	{"zero", func(ip []byte) { ip[10], ip[11] = 0, 0 }},
}

// somePayload returns a header above IP, with random data, and its protocol.
func somePayload(r *rand.Rand, version byte) (proto int, payload []byte) {
	data := randomBytes(r, 8+r.IntN(400))
	switch r.IntN(20) {
	case 0:
		return []int{iana.ProtoESP, iana.ProtoGRE, iana.ProtoSCTP, iana.ProtoOSPF, iana.ProtoAH}[r.IntN(5)], data
	case 1, 2, 3:
		if version == 6 {
			return iana.ProtoICMPv6, join([]byte{128 + byte(r.IntN(10)), 0}, data)
		}
		return iana.ProtoICMP, join([]byte{byte(r.IntN(9)), 0}, data)
	case 4, 5, 6, 7, 8:
		return iana.ProtoUDP, udp(r.IntN(65536), r.IntN(65536), data)
	}
	segment := tcp(r.IntN(65536), r.IntN(65536), data)
	copy(segment[4:12], randomBytes(r, 8))
	return iana.ProtoTCP, segment
}

// someDatagram returns a sound datagram between addresses of any blocks.
func someDatagram(r *rand.Rand, version byte, sum int) []byte {
	proto, payload := somePayload(r, version)
	if version == 6 {
		ip := ip6(1, proto, payload)
		copy(ip[8:40], randomBytes(r, 32))
		if r.IntN(2) == 0 {
			copy(ip[1:4], randomBytes(r, 3))
			ip[1] &= 15
		}
		ip[7] = 1 + byte(r.IntN(255))
		return ip
	}
	ip := ip4(1, proto, payload)
	if r.IntN(20) == 0 {
		ip = join("\x46\x00", be16(len(ip)+4), ip[4:20], "\x94\x04\x00\x00", payload) // router alert
	}
	copy(ip[4:6], randomBytes(r, 2))
	ip[6], ip[8] = byte(r.IntN(2))<<6, 1+byte(r.IntN(255))
	switch r.IntN(20) {
	case 0:
		ip[6] = 0x20
	case 1:
		ip[6], ip[7] = 0x20*byte(r.IntN(2))|byte(r.IntN(8)), byte(r.Uint32())
	}
	copy(ip[12:20], randomBytes(r, 8))
	if r.IntN(2) == 0 {
		ip[1] = byte(r.Uint32())
	}
	sums[sum].set(ip)
	return ip
}

// below is what a model puts below labels, and how it is to be read.
type below struct {
	data    []byte
	version uint8
	at      int // of IP or of the frame
}

// read decodes b below a label, and reports whether it was read right, and whether wrong.
func (b *below) read(t *testing.T, r *rand.Rand, n int) (right, wrong bool) {
	t.Helper()
	frame := labeled(r, b.data)
	start := len(frame) - len(b.data)
	batch := newBatch(capture.LinkEthernet, frame[:start+min(max(n, -n), len(b.data))])
	if n > 0 { // truncated, or whole; otherwise sliced: the frame is said to be as long as captured
		batch.Frames[0].WireLen = uint32(len(frame))
	}
	checkCommon(t, batch, 0)
	var h Header
	w := readFrame(&h, batch, 0, nil)
	switch {
	case h.Version != 0:
		right = h.Version == b.version && int(h.Start) == start+b.at
		return right, !right
	case w.unopened.Kind == unopenedMPLS:
		return false, false
	}
	right = b.version == 0 && int(h.Dst) == 0 && w.nonIP.dst == start+b.at
	return right, !right && b.version == 0
}

// countReadings reads many packets of a model, and fails if more than mostWrong of 10,000 are read
// as something else, or more than mostClosed are not opened.
func countReadings(t *testing.T, name string, mostWrong, mostClosed float64, model func(r *rand.Rand) (b below, n int)) {
	t.Helper()
	packets := 100000
	if testing.Short() {
		packets, mostWrong = 10000, mostWrong+3 // so few that chance counts
	}
	r, wrong, closed := rand.New(rand.NewPCG(31, uint64(len(name)))), 0, 0
	for range packets {
		b, n := model(r)
		ok, isWrong := b.read(t, r, n)
		if isWrong {
			wrong++
		} else if !ok {
			closed++
		}
	}
	each := 10000 / float64(packets)
	t.Logf("%s: of 10,000 %.2f wrong, %.2f closed", name, float64(wrong)*each, float64(closed)*each)
	if float64(wrong)*each > mostWrong || float64(closed)*each > mostClosed {
		t.Errorf("%s: of 10,000 %.2f wrong, %.2f closed, want %v and %v at most", name, float64(wrong)*each, float64(closed)*each, mostWrong, mostClosed)
	}
}

// TestRandomIPBelowLabels reads sound datagrams of any addresses below labels.
func TestRandomIPBelowLabels(t *testing.T) {
	for _, version := range []byte{4, 6} {
		for sum := range sums {
			name := string('0'+version) + sums[sum].name
			model := func(r *rand.Rand) below { return below{someDatagram(r, version, sum), version, 0} }
			countReadings(t, name+" whole", 1, 1, func(r *rand.Rand) (below, int) { return model(r), 9999 })
			countReadings(t, name+" padded", 1, 10, func(r *rand.Rand) (below, int) {
				b := model(r)
				b.data = append(b.data, make([]byte, r.IntN(20))...)
				return b, 9999
			})
			countReadings(t, name+" truncated", 1, 1, func(r *rand.Rand) (below, int) { return model(r), 40 + r.IntN(80) })
			countReadings(t, name+" sliced", 5, 50, func(r *rand.Rand) (below, int) { return model(r), -(54 + r.IntN(10)) })
			if version == 6 {
				break
			}
		}
	}
}

// TestEverySourceBelowLabels reads datagrams from addresses of which two bytes stand where a frame
// would have its type: each value of them, with each checksum, whole and sliced.
func TestEverySourceBelowLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	wrong, closed := 0, 0
	for typ := range 1 << 16 {
		for version := byte(4); version <= 6; version += 2 {
			sum := r.IntN(len(sums))
			ip := someDatagram(r, version, sum)
			copy(ip[12:], be16(typ))
			if version == 4 {
				sums[sum].set(ip)
			}
			for _, n := range []int{9999, -(54 + r.IntN(10))} {
				ok, isWrong := (&below{ip, version, 0}).read(t, r, n)
				if isWrong {
					wrong++
				} else if !ok {
					closed++
				}
			}
		}
	}
	t.Logf("%d wrong, %d closed of %d", wrong, closed, 1<<18)
	if wrong > 1 || closed > 100 {
		t.Errorf("%d wrong, %d closed of %d", wrong, closed, 1<<18)
	}
}

// TestRandomIPInTunnels opens tunnels that are doubtful by their port around sound datagrams of any
// addresses.
func TestRandomIPInTunnels(t *testing.T) {
	for _, c := range []struct {
		name string
		port int
		head func(version byte) string
	}{
		{"l2tp", iana.PortL2TP, func(v byte) string {
			return "\x00\x02\x00\x07\x00\x09\xff\x03\x00" + map[byte]string{4: "\x21", 6: "\x57"}[v]
		}},
		{"lisp", iana.PortLISP, func(byte) string { return "\x88\x00\x00\x01\x00\x00\x00\x01" }},
		{"mpls", iana.PortMPLS, func(byte) string { return "\x00\x01\x31\x40" }},
		{"jmirror", iana.PortJMirror, func(byte) string { return "\x00\x00\x00\x01\x00\x00\x00\x02" }},
		{"vxlan", iana.PortVXLAN, func(v byte) string {
			return "\x00\x00\x00\x00\x00\x00\x07\x00" + string(mac(1)) + string(mac(2)) + map[byte]string{4: "\x08\x00", 6: "\x86\xdd"}[v]
		}},
	} {
		for _, version := range []byte{4, 6} {
			r, closed, closedSliced := rand.New(rand.NewPCG(37, 38)), 0, 0
			for range 10000 {
				head := c.head(version)
				d := udp4(c.port, join(head, someDatagram(r, version, r.IntN(len(sums)))))
				if h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, d); h.Version != version || int(h.Start) != 28+len(head) {
					closed++
				}
				if h := decodeOne(DecoderConfig{Inner: true}, capture.LinkRaw, d[:min(28+len(head)+54, len(d))]); h.Version != version || int(h.Start) != 28+len(head) {
					closedSliced++
				}
			}
			t.Logf("%s, IPv%d: %d closed, sliced %d closed, of 10000", c.name, version, closed, closedSliced)
			if closed > 30 || closedSliced > 30 {
				t.Errorf("%s, IPv%d: %d closed, sliced %d closed, of 10000", c.name, version, closed, closedSliced)
			}
		}
	}
}

// someStations returns two hardware addresses: any, or of small test networks, or of
// which the first begins as IP does, or as the group of a router.
func someStations(r *rand.Rand) []byte {
	stations := randomBytes(r, 12)
	stations[6] &^= 1
	switch r.IntN(8) {
	case 0:
	case 1:
		copy(stations, []byte{0, 0, 0, 0, 0, 1 + byte(r.IntN(255)), 0, 0, 0, 0, 0})
	case 2:
		copy(stations, "\x00\x00\x5e\x00\x01")
	case 3:
		stations[0] = []byte{0x44, 0x46, 0x48, 0x60, 0x6c}[r.IntN(5)]
	default:
		stations[0] &^= 1
	}
	return stations
}

// someFrame returns an Ethernet frame between random stations, with what is below it.
func someFrame(r *rand.Rand, kind int, control []byte) below {
	stations := someStations(r)
	frame := stations
	for range max(r.IntN(5)-2, 0) {
		frame = join(frame, be16(iana.TypeVLAN), be16(r.IntN(65536)))
	}
	version, data := uint8(0), randomBytes(r, 46+r.IntN(200))
	at := len(control)
	switch kind {
	case 0:
		frame = join(frame, be16(iana.TypeARP), "\x00\x01\x08\x00\x06\x04\x00\x01", data)
	case 1:
		frame = join("\x01\x80\xc2\x00\x00\x0e", frame[6:], be16(0x88cc), "\x02\x07\x04", data)
	case 2:
		frame = join("\x01\x80\xc2\x00\x00\x00", frame[6:], be16(38), "\x42\x42\x03", make([]byte, 43))
	case 3:
		frame = join(frame, be16(0x88b8), data)
	case 4:
		frame = join(frame, be16(3+len(data)), "\xfe\xfe\x03\x83", data)
	default:
		version = 4 + 2*byte(r.IntN(2))
		at += len(frame) + 2
		typ := iana.TypeIPv4
		if version == 6 {
			typ = iana.TypeIPv6
		}
		frame = join(frame, be16(typ), someDatagram(r, version, r.IntN(len(sums))))
	}
	return below{join(control, frame), version, at}
}

// TestRandomFramesBelowLabels reads Ethernet frames below labels, with and without a control word.
func TestRandomFramesBelowLabels(t *testing.T) {
	for control, name := range []string{"without control word", "with control word", "with numbers"} {
		for kind, what := range []string{"ARP", "LLDP", "spanning tree", "GOOSE", "IS-IS", "IP"} {
			model := func(r *rand.Rand) below {
				word := make([]byte, 4)
				if control == 2 {
					binary.BigEndian.PutUint16(word[2:], uint16(r.Uint32()))
				}
				return someFrame(r, kind, word[:4*min(control, 1)])
			}
			countReadings(t, what+" "+name, 1, 1, func(r *rand.Rand) (below, int) { return model(r), 9999 })
			countReadings(t, what+" "+name+" sliced", 5, 100, func(r *rand.Rand) (below, int) {
				b := model(r)
				return b, -(b.at + 54 + r.IntN(30))
			})
		}
	}
}
