// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// someFrame draws the first n bytes of a frame that is plain, or nearly so.
func someFrame(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, 128)
	b = append(b, make([]byte, 12)...)
	tag := []uint16{0x8100, 0x88a8, 0x9100}
	for range max(0, rng.IntN(8)-4) {
		b = binary.BigEndian.AppendUint16(b, tag[rng.IntN(len(tag))])
		b = binary.BigEndian.AppendUint16(b, uint16(rng.Uint32()))
	}
	typ := []uint16{0x0800, 0x86dd, 0x0800, 0x86dd, 0x0806, 0x0000}
	at := rng.IntN(len(typ))
	if rng.IntN(3) == 0 {
		b = appendLabels(b, rng, at%2)
	} else {
		b = binary.BigEndian.AppendUint16(b, typ[at])
	}
	start := len(b)
	for len(b) < cap(b) {
		b = append(b, byte(rng.Uint32()))
	}
	ip := b[start:]
	stated := uint16(max(0, n-start+rng.IntN(5)-2))
	if rng.IntN(2) == 0 {
		stated = uint16(n - start)
	}
	if at%2 == 0 {
		ip[0] = 0x45
		binary.BigEndian.PutUint16(ip[2:], stated)
		if rng.IntN(8) != 0 {
			setSum(ip)
		}
	} else {
		ip[0] = 0x60 | ip[0]&15
		binary.BigEndian.PutUint16(ip[4:], stated-40)
	}
	if rng.IntN(16) == 0 {
		binary.BigEndian.PutUint16(ip[12:], []uint16{0x0800, 0x86dd, 0x8100, 0x88a8, 0x9100, 0x9200}[rng.IntN(6)])
		if at%2 == 0 {
			setSum(ip)
		}
	}
	if rng.IntN(16) == 0 {
		ip[0] = byte(rng.Uint32())
	}
	return b[:n]
}

// appendLabels appends labels or a PPPoE session, mostly of the version of IP that follows.
func appendLabels(b []byte, rng *rand.Rand, version int) []byte {
	random := rng.Uint32()
	if rng.IntN(3) == 0 {
		b = binary.BigEndian.AppendUint16(b, typePPPoE)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(random)), rng.Uint32())
		return binary.BigEndian.AppendUint16(b, []uint16{0x21, 0x57, 0x21, 0xc021}[version+rng.IntN(8)/7*2])
	}
	b = binary.BigEndian.AppendUint16(b, typeMPLS+uint16(random&1))
	for rng.IntN(3) == 0 {
		b = binary.BigEndian.AppendUint32(b, rng.Uint32()&^(1<<8))
	}
	return binary.BigEndian.AppendUint32(b, random|1<<8)
}

// setSum sets the checksum of an IPv4 header without options.
func setSum(ip []byte) {
	sum := uint32(0)
	ip[10], ip[11] = 0, 0
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum))
}

// someFrames draws a buffer, and messages that are frames in it.
func someFrames(t *testing.T, rng *rand.Rand, n int) (msgs []digest.Message, buf []byte) {
	var all []byte
	msgs = kerneltest.Guarded[digest.Message](t, n, n%2 == 0)
	for i := range msgs {
		size := rng.IntN(128)
		if i+1 == len(msgs) && rng.IntN(2) == 0 {
			size = rng.IntN(40) // ends with buf, or shortly before it
		}
		msgs[i] = digest.Message{Off: uint32(len(all)), Len: uint32(size), Tweak: rng.Uint64() >> rng.UintN(64)}
		all = append(all, someFrame(rng, size)...)
		if rng.IntN(4) == 0 { // a stated length that is longer than the captured one, or shorter
			msgs[i].Len = rng.Uint32() >> rng.UintN(32)
		}
	}
	buf = kerneltest.Guarded[byte](t, len(all), n%2 == 1)
	copy(buf, all)
	return msgs, buf
}

func someDatagrams(rng *rand.Rand) *Datagrams {
	var slowPath [2][256]bool
	for v := range slowPath {
		for i := range slowPath[v] {
			slowPath[v][i] = rng.IntN(5) == 0
		}
	}
	d := NewDatagrams(rng.Uint64(), rng.Uint64(), &slowPath)
	var usual [3][256]bool
	for i := range usual {
		for j := range usual[i] {
			usual[i][j] = rng.IntN(10) != 0
		}
	}
	switch labelled := d.Labelled(&usual[0], &usual[1], &usual[2]); rng.IntN(4) {
	case 0:
		return d.Untyped()
	case 1:
		return labelled.Untyped()
	case 2:
		return labelled
	}
	return d
}

// TestFindDatagramsLevels compares every instruction set with the plain one.
func TestFindDatagramsLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		placed := 0
		for n := range 301 {
			d := someDatagrams(rng)
			msgs, buf := someFrames(t, rng, n)
			placed += compareDatagrams(t, d, msgs, buf)
		}
		if all := 300 * 301 / 2; placed < all/8 || placed > all/2 {
			t.Errorf("%d of %d datagrams were placed", placed, all)
		}
	})
}

// TestFindPlainLevels does so with frames that mostly every kernel takes.
func TestFindPlainLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(65, 66))
		for n := range 301 {
			d := someDatagrams(rng)
			all, buf := someFrames(t, rng, 3*n+100)
			tried, rest := slices.Clone(all), make([]uint64, (len(all)+63)/64)
			d.findGeneric(tried, make([]uint16, len(all)), rest, buf, 0)
			msgs := kerneltest.Guarded[digest.Message](t, n, n%2 == 0)
			for i := range msgs {
				at := rng.IntN(len(all))
				for odd := rng.IntN(40) == 0; rest[at/64]>>(at%64)&1 == 1 && !odd; {
					at = rng.IntN(len(all))
				}
				msgs[i] = all[at]
			}
			compareDatagrams(t, d, msgs, buf)
		}
	})
}

// compareDatagrams compares FindDatagrams with findGeneric. It returns how many datagrams
// were placed.
func compareDatagrams(t *testing.T, d *Datagrams, msgs []digest.Message, buf []byte) (placed int) {
	t.Helper()
	n := len(msgs)
	numbers, rest := kerneltest.Guarded[uint16](t, n, n%2 == 0), kerneltest.Guarded[uint64](t, (n+63)/64, n%2 == 1)
	wantMsgs, wantNumbers, wantRest := slices.Clone(msgs), make([]uint16, n), make([]uint64, len(rest))
	wantFound := d.findGeneric(wantMsgs, wantNumbers, wantRest, buf, 0)
	for i := range rest {
		rest[i] = ^uint64(0)
	}
	found := FindDatagrams(d, msgs, numbers, rest, buf)
	if found != wantFound {
		t.Fatalf("%d messages: found %b, want %b", n, found, wantFound)
	}
	if !slices.Equal(msgs, wantMsgs) || !slices.Equal(numbers, wantNumbers) || !slices.Equal(rest, wantRest) {
		t.Fatalf("%d messages:\n got %v %v %x\nwant %v %v %x", n, msgs, numbers, rest, wantMsgs, wantNumbers, wantRest)
	}
	for i := range msgs {
		placed += int(^rest[i/64] >> (i % 64) & 1)
	}
	return placed
}

// TestFindDatagrams has a datagram of each kind, with its expected message.
func TestFindDatagrams(t *testing.T) {
	const first4, first6 = 0xff00ffff_ffffffff, 0xf00fffff_00000000
	zeros := make([]byte, 12)
	ip4 := []byte{0x45, 2, 0, 24, 5, 6, 7, 8, 9, 17, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}
	ip6 := []byte{0x61, 2, 3, 4, 0, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	ip6 = append(ip6, make([]byte, 28)...)
	tag := []byte{0x81, 0, 1, 2}
	join := func(parts ...[]byte) []byte { return slices.Concat(append([][]byte{zeros}, parts...)...) }
	type4, type6 := []byte{8, 0}, []byte{0x86, 0xdd}
	tweak4, tweak6 := uint64(0x45<<56|0x0018<<32|17<<48|0x05060708), uint64(0x6002_0304<<32|6<<52|0x090a0b0c)
	cases := []struct {
		frame  []byte
		longer uint32 // by which the message is longer than the frame
		want   digest.Message
		number uint16
		cut    bool
	}{
		{join(type4, ip4), 0, digest.Message{Off: 26, Len: 12, Tweak: tweak4}, 17, false},
		{join(type4, ip4), 9, digest.Message{Off: 26, Len: 12, Tweak: tweak4}, 17, false},
		{join(tag, type4, ip4), 0, digest.Message{Off: 30, Len: 12, Tweak: tweak4}, 17, false},
		{join(tag, tag, type6, ip6), 0, digest.Message{Off: 34, Len: 32, Tweak: tweak6}, 6, false},
		{join(type6, ip6), 0, digest.Message{Off: 26, Len: 32, Tweak: tweak6}, 6, false},
		{join(type6, with(ip6, 5, 5)), 0, digest.Message{Off: 22, Len: 36, Tweak: 0x7002_0304_0005_0600}, 6, true},
		{join(type4, with(ip4, 3, 25)), 0, digest.Message{Off: 26, Len: 12, Tweak: tweak4 + 1<<32}, 17, true},
		{join(tag, type4, with(ip4, 3, 25)), 0, digest.Message{Off: 30, Len: 12, Tweak: tweak4 + 1<<32}, 17, true},
		{join(tag, tag, tag, type4, ip4), 0, digest.Message{}, 0, false},
		{join(type4, with(ip4, 0, 0x46)), 0, digest.Message{}, 0, false},
		{join(type6, with(ip6, 6, 44)), 0, digest.Message{}, 0, false},
		{join(type4, with(ip4, 3, 23)), 0, digest.Message{}, 0, false},
		{join(type4, ip4[:23]), 0, digest.Message{}, 0, false},
	}
	slowPath := [2][256]bool{1: {44: true}}
	typed := NewDatagrams(first4, first6, &slowPath)
	tests := len(cases)
	for _, c := range cases { // each frame without tags once more, with another type
		if c.frame[12] == 8 || c.frame[12] == 0x86 {
			c.frame = slices.Clone(c.frame)
			c.frame[12], c.frame[13] = 0x81, 0
			cases = append(cases, c)
		}
	}
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for i, c := range cases {
			d := typed
			if i >= tests {
				d = typed.Untyped()
			}
			var msgs [17]digest.Message
			for at := range msgs {
				msgs[at] = digest.Message{Len: uint32(len(c.frame)) + c.longer, Tweak: 99}
			}
			var numbers [17]uint16
			rest := []uint64{0}
			if found := FindDatagrams(d, msgs[:], numbers[:], rest, append(c.frame, zeros...)); found&FoundCut != 0 != c.cut {
				t.Fatalf("case %d: found %b, cut is %v", i, found, c.cut)
			}
			for at, got := range msgs {
				want, bit := c.want, uint64(0)
				if want.Len == 0 {
					want, bit = digest.Message{Len: uint32(len(c.frame)) + c.longer, Tweak: 99}, 1
				}
				if got != want || numbers[at] != c.number || rest[0]>>at&1 != bit {
					t.Fatalf("case %d, message %d: got %x of %d, want %x of %d", i, at, got, numbers[at], want, c.number)
				}
			}
		}
	})
}

// with returns a copy of b with one byte changed.
func with(b []byte, at int, value byte) []byte {
	b = slices.Clone(b)
	b[at] = value
	return b
}

// benchFrames returns frames of 64 bytes, with the given percentage of IPv6.
func benchFrames(ipv6 int) (frames []digest.Message, buf []byte) {
	rng := rand.New(rand.NewPCG(63, 64))
	for range 512 {
		frame := append(make([]byte, 12), 8, 0, 0x45, 0, 0, 50)
		if rng.IntN(100) < ipv6 {
			frame = append(make([]byte, 12), 0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 6)
		}
		frames = append(frames, digest.Message{Off: uint32(len(buf)), Len: 64})
		buf = append(append(buf, frame...), make([]byte, 80-len(frame))...)
	}
	return frames, buf
}

func BenchmarkPlaceDatagrams(b *testing.B) {
	frames, buf := benchFrames(20)
	msgs := slices.Clone(frames)
	d := NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{})
	numbers, rest := make([]uint16, len(msgs)), make([]uint64, len(msgs)/64)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(msgs), func() {
			copy(msgs, frames)
			FindDatagrams(d, msgs, numbers, rest, buf)
		})
	})
}
