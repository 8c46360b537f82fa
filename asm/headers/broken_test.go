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

// TestFindBroken finds the same headers at every level, in batches of any size.
func TestFindBroken(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		for range 300 {
			var buf []byte
			var msgs []digest.Message
			for range rng.IntN(200) {
				frame := someFrame(rng, 40+rng.IntN(88))
				at := len(buf)
				buf = append(buf, frame...)
				if ip := buf[at:]; len(ip) > 34 && rng.IntN(2) == 0 {
					switch rng.IntN(4) {
					case 0:
						ip[14+7] = 0
					case 1:
						ip[14+8] = 0
					case 2:
						ip[14+10], ip[14+11] = 0, 0
					default:
						ip[14+10] ^= 1 << rng.IntN(8)
					}
				}
				msgs = append(msgs, digest.Message{Off: uint32(at), Len: uint32(len(frame))})
			}
			words := (len(msgs) + 63) / 64
			numbers, rest, broken := make([]uint16, len(msgs)), make([]uint64, words), make([]uint64, words)
			FindDatagrams(NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{}), msgs, numbers, rest, buf)
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
			if got := FindBroken(msgs, rest, broken, buf); got != some || !slices.Equal(broken, want) {
				t.Fatalf("%d messages: %x, want %x; %v", len(msgs), broken, want, got)
			}
		}
	})
}

func BenchmarkFindBroken(b *testing.B) {
	frames, buf := benchFrames(20)
	for i := range frames {
		buf[frames[i].Off+14+8], buf[frames[i].Off+14+7] = 64, 64
	}
	numbers, rest, broken := make([]uint16, len(frames)), make([]uint64, len(frames)/64), make([]uint64, len(frames)/64)
	FindDatagrams(NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{}), frames, numbers, rest, buf)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(frames), func() { FindBroken(frames, rest, broken, buf) })
	})
}
