// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// wholeModel is Whole.Count for one frame.
func wholeModel(b []byte, isExtension *[256]bool) bool {
	if len(b) < wholeLeast {
		return false
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		return b[20]&0x3f == 0 && b[21] == 0
	case 0x86dd:
		return !isExtension[b[20]]
	}
	return false
}

// TestWhole counts the same frames at every level, up to any that is not whole.
func TestWhole(t *testing.T) {
	extensions := [256]bool{0: true, 43: true, 44: true, 60: true, 135: true, 254: true}
	w := NewWhole(&extensions)
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(73, 74))
		stops := 0
		for round := range 2000 {
			all := kerneltest.Guarded[frames.Frame](t, rng.IntN(100), round%2 == 0)
			var packets []byte
			want, odd := len(all)&^7, rng.IntN(len(all)+40)
			for i := range all {
				b := make([]byte, wholeLeast+rng.IntN(20))
				for j := range b {
					b[j] = byte(rng.Uint32())
				}
				if rng.IntN(2) == 0 {
					binary.BigEndian.PutUint16(b[12:], 0x0800)
					b[20], b[21] = b[20]&0xc0, 0
				} else {
					binary.BigEndian.PutUint16(b[12:], 0x86dd)
					for extensions[b[20]] {
						b[20]++
					}
				}
				if i == odd {
					switch rng.IntN(4) {
					case 0:
						b = b[:rng.IntN(wholeLeast)]
					case 1:
						b[12+rng.IntN(2)] ^= 1 << rng.IntN(8)
					case 2:
						b[20+rng.IntN(2)] ^= 1 << rng.IntN(8)
					default:
						b[20] = []byte{0, 43, 44, 60, 135, 254}[rng.IntN(6)]
					}
				}
				if !wholeModel(b, &extensions) && want > i&^7 {
					want = i &^ 7
					stops++
				}
				f := frames.Frame{Time: int64(rng.Uint64()), WireLen: rng.Uint32(), Interface: rng.Uint32(), Record: rng.Uint32(), RecordLen: rng.Uint32()}
				f.Data, f.CapLen = uint32(len(packets)), uint32(len(b))
				all[i] = f
				packets = append(packets, b...)
			}
			buf := kerneltest.Guarded[byte](t, len(packets), true)
			copy(buf, packets)
			if got := w.Count(all, buf); got != want {
				t.Fatalf("%d frames: %d are whole, want %d", len(all), got, want)
			}
		}
		if stops < 500 {
			t.Errorf("%d batches have frames that are not whole", stops)
		}
	})
}

func BenchmarkWhole(b *testing.B) {
	msgs, buf := benchFrames(20)
	all := make([]frames.Frame, len(msgs))
	for i, m := range msgs {
		all[i] = frames.Frame{Data: m.Off, CapLen: m.Len}
	}
	w := NewWhole(&[256]bool{0: true})
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(all), func() {
			if w.Count(all, buf) != len(all) {
				b.Fatal("frames are not whole")
			}
		})
	})
}
