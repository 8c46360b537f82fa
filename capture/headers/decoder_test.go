// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
	"github.com/google/gopacket"
)

// checkHeader checks what must hold for the header of any frame.
func checkHeader(t *testing.T, h Header, caplen int) {
	t.Helper()
	if h.Start > h.End || int(h.End) > caplen {
		t.Fatalf("datagram from %d to %d of %d bytes", h.Start, h.End, caplen)
	}
	switch h.Version {
	case 0:
		if h.Proto != 0 || h.L4 != 0 || h.SrcPort|h.DstPort != 0 {
			t.Fatalf("no IP header, but %+v", h)
		}
	case 4, 6:
		least := map[uint8]uint32{4: 20, 6: 40}[h.Version]
		if h.End-h.Start < least || h.L4 != 0 && (h.L4 < h.Start+least || h.L4 > h.End) {
			t.Fatalf("impossible header %+v", h)
		}
	default:
		t.Fatalf("version %d", h.Version)
	}
	if h.Flags&FlagDst != 0 && int(h.Dst)+6 > caplen || h.Flags&FlagSrc != 0 && int(h.Src)+6 > caplen {
		t.Fatalf("hardware addresses outside of the frame: %+v", h)
	}
	if h.Tags > 0 && (h.Tag < 2 || int(h.Tag)+4*int(h.Tags) > caplen) || h.Tags > 0 && h.Flags&FlagVLAN == 0 {
		t.Fatalf("tags outside of the frame: %+v", h)
	}
}

// TestGeneratedFrames decodes frames that gopacket wrote.
func TestGeneratedFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	buf := gopacket.NewSerializeBuffer()
	for range 5000 {
		g := generate(r)
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, g.Layers...); err != nil {
			t.Fatal(err)
		}
		data := buf.Bytes()
		want := Header(g.Want)
		want.End = uint32(len(data))
		trailer := r.IntN(8)
		data = append(data[:len(data):len(data)], make([]byte, trailer)...)
		if got := decodeOne(DecoderConfig{}, capture.LinkEthernet, data); got != want {
			t.Fatalf("frame %x:\n got %+v\nwant %+v", data, got, want)
		}
	}
}

// TestFastAndSlowAgree decodes frames for the fast path, and damaged copies of them, on
// both paths.
func TestFastAndSlowAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seeds := [][]byte{
		ether(iana.TypeIPv4, packet4), ether(iana.TypeIPv6, packet6),
		ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeIPv4), packet4)),
		ether(iana.TypeQinQ, join(be16(7), be16(iana.TypeVLAN), be16(100), be16(iana.TypeIPv6), packet6)),
	}
	fast := 0
	for range 20000 {
		data := append([]byte(nil), seeds[r.IntN(len(seeds))]...)
		for range r.IntN(3) {
			data[12+r.IntN(len(data)-12)] = byte(r.Uint32())
		}
		data = data[:len(data)-r.IntN(2)*r.IntN(len(data))]
		b := newBatch(capture.LinkEthernet, data)
		for range r.IntN(2) * (fastReach + 4*fastTags) { // bytes after the frame
			b.Buf = append(b.Buf, byte(r.Uint32()))
		}
		quick, slow := make([]Header, 1), Header{}
		if decodeFast(quick, b.Frames, b.Buf) == 0 {
			continue
		}
		fast++
		if readFrame(&slow, b, 0, nil); quick[0] != slow {
			t.Fatalf("frame %x:\nfast %+v\nslow %+v", data, quick[0], slow)
		}
	}
	if fast < 5000 {
		t.Errorf("only %d frames took the fast path", fast)
	}
}

// checkCommon compares decodeCommon with the walk of a frame, and reports whether it decoded
// the frame.
func checkCommon(t *testing.T, b *capture.Batch, i int) (decoded bool) {
	t.Helper()
	var common, walked Header
	link := b.Interfaces[b.Frames[i].Interface].LinkType
	decoded = decodeCommon(&common, link, b.Data(i), b.Frames[i].WireLen)
	if readFrame(&walked, b, i, nil); decoded && common != walked {
		t.Fatalf("link type %d, frame %x:\ncommon %+v\nwalked %+v", link, b.Data(i), common, walked)
	}
	common = walked
	usualTunnels.open(&common, b.Data(i), b.Frames[i].WireLen, nil)
	if usualTunnels.open(&walked, b.Data(i), b.Frames[i].WireLen, &notes{}); common != walked { // with notes all tunnels are walked
		t.Fatalf("link type %d, frame %x, inner:\ncommon %+v\nwalked %+v", link, b.Data(i), common, walked)
	}
	return decoded
}

// TestCommonAndWalkAgree decodes frames with common headers, and damaged copies of them,
// with decodeCommon and on a walk.
func TestCommonAndWalkAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	extended := join("\x60\x00\x00\x00", be16(16), "\x00\x40", packet6[8:40], "\x2c\x00\x05\x02\x00\x00\x01\x00", "\x3a\x00\x00\x01\x00\x00\x00\x07")
	labels := join("\x00\x01\x00\x40", "\x00\x02\x01\x40")
	cooked := join("\x00\x00\x00\x01\x00\x06", mac(1), "\x00\x00")
	type frame struct {
		link capture.LinkType
		data []byte
	}
	seeds := []frame{
		{capture.LinkEthernet, ether(iana.TypeIPv6, extended)},
		{capture.LinkEthernet, ether(iana.TypeMPLS, join(labels, packet4))},
		{capture.LinkEthernet, ether(iana.TypeVLAN, join(be16(100), be16(iana.TypeMPLSUp), labels, packet6))},
		{capture.LinkEthernet, ether(iana.TypePPPoE, join("\x11\x00\x00\x01\x00\x20", be16(pppIPv4), packet4))},
		{capture.LinkEthernet, ether(iana.TypePPPoE, join("\x11\x00\x00\x01\x00\x20", be16(pppMPLS), labels, packet6))},
		{capture.LinkEthernet, ether(iana.TypeQinQOld, join(be16(1), be16(iana.TypeQinQ), be16(2), be16(iana.TypeVLAN), be16(3), be16(iana.TypeIPv4), packet4))},
		{capture.LinkLinuxSLL, join(cooked, be16(iana.TypeIPv4), packet4)},
		{capture.LinkLinuxSLL, join(cooked, be16(iana.TypeVLAN), be16(7), be16(iana.TypeIPv6), packet6)},
		{capture.LinkLinuxSLL2, join(be16(iana.TypeIPv6), "\x00\x00\x00\x00\x00\x02\x00\x01\x00\x06", mac(1), "\x00\x00", packet6)},
		{capture.LinkRaw, packet4}, {capture.LinkRaw, extended}, {capture.LinkIPv4, packet4}, {capture.LinkIPv6, packet6},
		{capture.LinkNull, join("\x02\x00\x00\x00", packet4)}, {capture.LinkLoop, join("\x00\x00\x00\x1e", packet6)},
	}
	for _, s := range seeds {
		if !checkCommon(t, newBatch(s.link, s.data), 0) {
			t.Errorf("link type %d, frame %x: not decoded", s.link, s.data)
		}
	}
	for range 50000 {
		s := seeds[r.IntN(len(seeds))]
		data := append([]byte(nil), s.data...)
		for range r.IntN(4) {
			data[r.IntN(min(len(data), 60))] = byte(r.Uint32())
		}
		checkCommon(t, newBatch(s.link, data[:len(data)-r.IntN(2)*r.IntN(len(data))]), 0)
	}
	for range 50000 {
		data := append([]byte(nil), tunnelCases[r.IntN(len(tunnelCases))].Outer...)
		for range r.IntN(4) {
			data[r.IntN(min(len(data), 100))] = byte(r.Uint32())
		}
		checkCommon(t, newBatch(capture.LinkRaw, data[:len(data)-r.IntN(2)*r.IntN(len(data))]), 0)
	}
}

// TestMixedLinks checks that frames of several link types in one run decode as in runs of
// their own.
func TestMixedLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	frames := map[capture.LinkType][]byte{
		capture.LinkEthernet: ether(iana.TypeIPv4, packet4), capture.LinkRaw: packet6, capture.LinkNull: join("\x02\x00\x00\x00", packet4),
	}
	links := []capture.LinkType{capture.LinkEthernet, capture.LinkRaw, capture.LinkNull, capture.LinkEthernet}
	var data [][]byte
	var ifaces []uint32
	for range 200 {
		n := r.IntN(len(links))
		for range 1 + r.IntN(4) {
			ifaces = append(ifaces, uint32(n))
			data = append(data, frames[links[n]])
		}
	}
	b := newBatch(capture.LinkEthernet, data...)
	b.Interfaces = nil
	for _, link := range links {
		b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: link})
	}
	for i, n := range ifaces {
		b.Frames[i].Interface = n
	}
	for i, got := range decode(NewDecoder(DecoderConfig{}), b) {
		if want := decodeOne(DecoderConfig{}, links[ifaces[i]], data[i]); got != want {
			t.Errorf("frame %d of link type %d: got %+v, want %+v", i, links[ifaces[i]], got, want)
		}
	}
}

// TestIPLengths checks where datagrams end.
func TestIPLengths(t *testing.T) {
	noLength4 := ip4(1, iana.ProtoTCP, tcp(1000, 80, []byte("segment to be")))
	copy(noLength4[2:], "\x00\x00")
	noLength6 := ip6(1, iana.ProtoTCP, tcp(1000, 80, []byte("segment to be")))
	copy(noLength6[4:], "\x00\x00")
	short := ip4(1, iana.ProtoUDP, udp(1, 2, nil))
	copy(short[2:], be16(19))
	for _, c := range []struct {
		name string
		ip   []byte
		cut  int // bytes that were not captured
		end  int // end of the datagram; 0 if there is none
	}{
		{"no length v4", noLength4, 0, len(noLength4)},
		{"no length v6", noLength6, 0, len(noLength6)},
		{"truncated", packet4, 7, len(packet4) - 7},
		{"truncated in the ports", packet4, len(packet4) - 22, 22},
		{"truncated in the header", packet4, len(packet4) - 19, 0},
		{"truncated in the header v6", packet6, len(packet6) - 39, 0},
		{"length below the header", short, 0, 0},
		{"header length 16", join("\x44", packet4[1:]), 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.ip[:len(c.ip)-c.cut]
			h := decodeOne(DecoderConfig{}, capture.LinkRaw, data)
			if c.end == 0 {
				if h.Version != 0 {
					t.Errorf("found %+v", h)
				}
				return
			}
			if h.Version == 0 || int(h.End) != c.end {
				t.Errorf("got %+v, want the end at %d", h, c.end)
			}
		})
	}
}

// TestHostileCaptures decodes frames that are built to cost time or memory.
func TestHostileCaptures(t *testing.T) {
	dir := filepath.Join(sharedCaptures(t), "hostile")
	for name, proto := range map[string]uint8{"22-ipv6-ext-header-chain.pcap": iana.ProtoTCP, "23-vlan-stack-1000.pcap": 0} {
		frames := 0
		eachBatch(t, filepath.Join(dir, name), func(b *capture.Batch) {
			for i, h := range decode(NewDecoder(DecoderConfig{Inner: true}), b) {
				frames++
				checkHeader(t, h, len(b.Data(i)))
				if h.Proto != proto {
					t.Errorf("%s: %+v, want protocol %d", name, h, proto)
				}
			}
		})
		if frames != 1 {
			t.Errorf("%s: %d frames, want 1", name, frames)
		}
	}
}

// TestWalkSize holds the size of a walk: a larger walk is cleared and copied in a slower way.
func TestWalkSize(t *testing.T) {
	if size := unsafe.Sizeof(walk{}); bits.UintSize == 64 && size > 128 {
		t.Errorf("a walk has %d bytes, want 128 at most", size)
	}
}
