// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// isRefused is FindBroken for one IP header, byte by byte.
func isRefused(ip []byte) bool {
	if ip[0]>>4 == 6 {
		return ip[7] == 0
	}
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(ip[i])<<8 | uint32(ip[i+1])
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ip[8] == 0 || ip[10]|ip[11] != 0 && sum != 0xffff
}

// rightFrame returns a frame whose IP header, if FindDatagrams takes it, receivers take, too.
func rightFrame(rng *rand.Rand) []byte {
	frame := someFrame(rng, 60+rng.IntN(68))
	m, number, rest := []digest.Message{{Len: uint32(len(frame))}}, []uint16{0}, []uint64{0}
	NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{}).findGeneric(m, number, rest, frame, 0)
	if rest[0] != 0 {
		return frame
	}
	ip := frame[m[0].Off-brokenAt[m[0].Tweak>>60]:]
	ip[7] |= 1
	if ip[0]>>4 == 4 {
		ip[8] |= 1
		setSum(ip)
	}
	return frame
}

// breakFrame has a frame whose IP header, if it is taken at all, no receiver takes, or changes nothing
// of that.
func breakFrame(rng *rand.Rand, frame []byte) {
	at := datagramStart + 4*rng.IntN(datagramTags+1)
	switch rng.IntN(5) {
	case 0:
		frame[at+7] = 0
	case 1:
		frame[at+8] = 0
	case 2:
		frame[at+10], frame[at+11] = 0, 0
	case 3:
		frame[at+10] ^= 1 << rng.IntN(8)
	default:
		frame[at+12+rng.IntN(8)] ^= 1 << rng.IntN(8)
	}
}

// TestFindBroken finds the same headers at every level, in batches of any size. FindDatagrams knows
// whether there are some, down to one.
func TestFindBroken(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		var with, without int
		for range 600 {
			var all []byte
			msgs := make([]digest.Message, rng.IntN(200))
			few := rng.IntN(4)
			for i := range msgs {
				frame := rightFrame(rng)
				if few == 0 && rng.IntN(2) == 0 || few < 3 && rng.IntN(len(msgs)) == 0 {
					breakFrame(rng, frame)
				}
				msgs[i] = digest.Message{Off: uint32(len(all)), Len: uint32(len(frame))}
				all = append(all, frame...)
			}
			buf := kerneltest.Guarded[byte](t, len(all), true)
			copy(buf, all)
			words := (len(msgs) + 63) / 64
			numbers, rest, broken := make([]uint16, len(msgs)), make([]uint64, words), make([]uint64, words)
			found := FindDatagrams(NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{}), msgs, numbers, rest, buf)
			want, some := make([]uint64, words), false
			for i, m := range msgs {
				if rest[i/64]>>(i%64)&1 != 0 {
					continue
				}
				start := m.Off - datagramSkip
				if m.Tweak>>60 == 7 {
					start = m.Off - 8
				}
				if isRefused(buf[start:]) {
					want[i/64] |= 1 << (i % 64)
					some = true
				}
			}
			FindBroken(msgs, rest, broken, buf)
			if found&FoundBroken != 0 != some || !slices.Equal(broken, want) {
				t.Fatalf("%d messages: %x, want %x; found %b", len(msgs), broken, want, found)
			}
			if some {
				with++
			} else {
				without++
			}
		}
		if min(with, without) < 150 {
			t.Errorf("%d batches with, %d without", with, without)
		}
	})
}
