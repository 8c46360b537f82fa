package flow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// nearCopies returns frames that differ from each other in one bit, in a few bytes
// or in their length, and exact copies of some.
func nearCopies() [][]byte {
	r := rand.New(rand.NewPCG(7, 8))
	long6 := ip6(1, protoUDP, udp(1000, 53, make([]byte, 40)))
	var out [][]byte
	for _, seed := range [][]byte{
		ether(typeIPv4, packet4), ether(typeIPv6, packet6), ether(typeIPv6, long6), arpFrame,
		ether(typeVLAN, join(be16(100), be16(typeIPv6), packet6)),
		ether(typeIPv4, udp4(portVXLAN, join("\x08\x00\x00\x00\x00\x00\x64\x00", ether(typeIPv6, packet6)))),
		ether(typeIPv4, ip4(1, protoIPv6, packet6)),
	} {
		for i := range seed {
			out = append(out, seed[:i])
			for bit := range 8 {
				out = append(out, with(seed, i, string([]byte{seed[i] ^ 1<<bit})))
			}
		}
		for range 2000 {
			frame := slices.Clone(seed)
			for range 1 + r.IntN(3) {
				frame[14+r.IntN(min(60, len(frame)-14))] = byte(r.IntN(3))
			}
			out = append(out, frame[:len(frame)-r.IntN(2)*r.IntN(20)])
		}
	}
	return out
}

// TestPlaceAndCopyAgree checks that two frames have the same identity where they
// lie if they have the same one copied.
func TestPlaceAndCopyAgree(t *testing.T) {
	b := newBatch(capture.LinkEthernet, nearCopies()...)
	for _, kind := range []IdentityKind{Frame, L3, Inner} {
		h := decode(DecoderConfig{Inner: kind == Inner}, b)
		for _, more := range []Fields{0, IPID, FlowLabel, IPID | FlowLabel} {
			if kind == Frame && more != 0 {
				continue
			}
			cfg := IdentityConfig{Kind: kind, Ignore: IgnoreAlso(more)}
			placing, copying := NewIdentity(cfg), NewIdentity(cfg)
			if !placing.zeroCopy {
				t.Fatalf("%+v is copied", cfg)
			}
			copying.zeroCopy = false
			placed, copied := placing.FromHeaders(b, 0, h).all(), copying.FromHeaders(b, 0, h).all()
			there, back := map[message]message{}, map[message]message{}
			for i := range placed {
				a, c := placed[i], copied[i]
				if was, ok := there[a]; ok && was != c {
					t.Fatalf("%+v: frame %x: one identity for %x and %x", cfg, b.Data(i), was, c)
				}
				if was, ok := back[c]; ok && was != a {
					t.Fatalf("%+v: frame %x: identities %x and %x for one", cfg, b.Data(i), was, a)
				}
				there[a], back[c] = c, a
			}
			if len(there) < 2000 || len(there) > len(placed)*9/10 {
				t.Errorf("%+v: %d identities of %d frames", cfg, len(there), len(placed))
			}
		}
	}
}

// TestPlaceLeavesBatch checks that frames are digested without a copy and stay as
// they are.
func TestPlaceLeavesBatch(t *testing.T) {
	b := newBatch(capture.LinkEthernet, nearCopies()...)
	before := slices.Clone(b.Buf)
	for _, kind := range []IdentityKind{Frame, L3} {
		m := NewIdentity(IdentityConfig{Kind: kind}).FromHeaders(b, 0, decode(DecoderConfig{}, b))
		if &m.buf[0] != &b.Buf[0] || !slices.Equal(m.buf, before) {
			t.Errorf("%v: the batch was copied or changed", kind)
		}
	}
}

// checkRead checks that frames are read as they are decoded and gathered.
func checkRead(t *testing.T, cfg IdentityConfig, b *capture.Batch, from int) {
	t.Helper()
	g := NewIdentity(cfg)
	protocols := make([]Protocol, len(b.Frames)-from)
	read := g.FromFrames(protocols, b, from).all()
	h := decode(DecoderConfig{Inner: cfg.Kind == Inner}, b)[from:]
	if gathered := NewIdentity(cfg).FromHeaders(b, from, h).all(); !slices.Equal(read, gathered) {
		t.Fatalf("%+v from %d: messages differ:\n got %x\nwant %x", cfg, from, read, gathered)
	}
	for i := range h {
		if protocols[i] != h[i].Protocol() {
			t.Fatalf("%+v: frame %x: got %v, want %v", cfg, b.Data(from+i), protocols[i], h[i].Protocol())
		}
	}
}

// mixedLinks returns frames of interfaces with several link types, in runs.
func mixedLinks() *capture.Batch {
	b := newBatch(capture.LinkEthernet, nearCopies()[:3000]...)
	b.Interfaces = append(b.Interfaces, capture.Interface{LinkType: capture.LinkRaw}, capture.Interface{LinkType: capture.LinkEthernet})
	for i := range b.Frames {
		b.Frames[i].Interface = uint32(i / 50 % 3)
	}
	return b
}

// TestRead reads frames with and without what makes them rare, of one link type and of
// several.
func TestRead(t *testing.T) {
	b := newBatch(capture.LinkEthernet, slices.Concat(nearCopies(), plainFrames())...)
	mixed := mixedLinks()
	for _, kind := range []IdentityKind{Frame, L3, Inner} {
		for _, ignore := range []Ignore{{}, IgnoreAlso(IPID | FlowLabel), IgnoreAlso(L4Checksum)} {
			for _, from := range []int{1, len(mixed.Frames) - 3, len(mixed.Frames)} {
				checkRead(t, IdentityConfig{Kind: kind, Ignore: ignore}, b, from)
				checkRead(t, IdentityConfig{Kind: kind, Ignore: ignore}, mixed, from)
			}
		}
	}
}
