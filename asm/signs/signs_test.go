// SPDX-License-Identifier: Apache-2.0

package signs

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// plain does what Find does, byte by byte.
func plain(text []byte, separator, quote byte) []Block {
	blocks := make([]Block, (len(text)+Bytes-1)/Bytes)
	for i, sign := range text {
		b, bit := &blocks[i/Bytes], uint64(1)<<(i%Bytes)
		if sign == separator {
			b.Separators |= bit
		}
		if sign == quote {
			b.Quotes |= bit
		}
		if sign == '\n' {
			b.Ends |= bit
		}
	}
	return blocks
}

// check compares every level with plain, for a text and blocks next to pages without access.
func check(t *testing.T, text []byte, a, b byte, front bool) {
	t.Helper()
	want := plain(text, a, b)
	guarded := kerneltest.Guarded[byte](t, len(text), front)
	copy(guarded, text)
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		blocks := kerneltest.Guarded[Block](t, len(want), front)
		for i := range blocks {
			blocks[i] = Block{^uint64(0), ^uint64(0), ^uint64(0)}
		}
		if Find(blocks, guarded, a, b); !slices.Equal(blocks, want) {
			t.Fatalf("signs %q and %q of %q: got %x, want %x", a, b, text, blocks, want)
		}
	})
}

// TestFind finds signs in texts of every length: of bytes around them, and of bytes that differ from
// them in one bit.
func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for n := range 400 {
		a, b := byte(rng.Uint32()), byte(rng.Uint32())
		if n%3 == 0 {
			a, b = []byte(`",|;`)[rng.IntN(4)], []byte("\t \n\\")[rng.IntN(4)]
		}
		text := make([]byte, n)
		for i := range text {
			if text[i] = []byte{a, b, '\n', byte(rng.Uint32())}[rng.IntN(4)]; rng.IntN(2) == 0 {
				text[i] ^= 1 << rng.IntN(8)
			}
		}
		check(t, text, a, b, n%2 == 0)
	}
}

// FuzzFind does the same with what a fuzzer finds.
func FuzzFind(f *testing.F) {
	f.Add([]byte(`{"a":"b\\"}`+"\n\"c\" a line that is longer than half of a block, and more than one of them\r\n"), byte('"'), byte('\\'))
	f.Add([]byte("a,,b\n"), byte(','), byte('"'))
	f.Fuzz(func(t *testing.T, text []byte, a, b byte) {
		check(t, text, a, b, len(text)%2 == 0)
	})
}

// TestShort refuses blocks that have no room.
func TestShort(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		kerneltest.Panics(t, "out of range", func() { Find(make([]Block, 1), make([]byte, Bytes+1), 'a', 'b') })
	})
}

func BenchmarkFind(b *testing.B) {
	text, blocks := kerneltest.Pattern(64<<10), make([]Block, 1<<10)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, len(text), func() { Find(blocks, text, '"', '\\') })
	})
}
