// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// forAESLevels runs a test with each implementation that the CPU can run except the plain
// one, their reference.
func forAESLevels(t *testing.T, key [16]byte, test func(t *testing.T, a, generic *AES)) {
	t.Helper()
	for _, level := range cpu.AESLevels()[1:] {
		t.Run("level="+level.String(), func(t *testing.T) {
			test(t, newAES(key, level), newAES(key, cpu.Generic))
		})
	}
}

// TestAESKeyLevels compares every batch length from 0 to 300, with guard pages
// behind and before all buffers.
func TestAESKeyLevels(t *testing.T) {
	forAESLevels(t, [16]byte{5: 1}, func(t *testing.T, a, generic *AES) {
		rng := rand.New(rand.NewPCG(1, 2))
		const most = 300
		for _, front := range []bool{false, true} {
			keys16, keys48 := kerneltest.Guarded[[16]byte](t, most, front), kerneltest.Guarded[[48]byte](t, most, front)
			got := kerneltest.Guarded[Digest](t, most, front)
			want := make([]Digest, most)
			for i := range most {
				for j := range 48 {
					keys48[i][j] = byte(rng.Uint32())
				}
				keys16[i] = [16]byte(keys48[i][:])
			}
			for n := range most + 1 {
				got := kerneltest.Part(got, n, front)
				part16, part48 := kerneltest.Part(keys16, n, front), kerneltest.Part(keys48, n, front)
				a.Sum16(got, part16)
				generic.Sum16(want[:n], part16)
				if !slices.Equal(got, want[:n]) {
					t.Fatalf("Sum16 of %d keys differs", n)
				}
				a.Sum48(got, part48)
				generic.Sum48(want[:n], part48)
				if !slices.Equal(got, want[:n]) {
					t.Fatalf("Sum48 of %d keys differs", n)
				}
			}
		}
	})
}

// messageBatches are ways in which lengths come.
var messageBatches = []struct {
	name   string
	length func(rng *rand.Rand, i int) int
}{
	{"random", func(rng *rand.Rand, _ int) int { return rng.IntN(200) }},
	{"equal", func(*rand.Rand, int) int { return 46 }},
	{"equal in blocks", func(rng *rand.Rand, _ int) int { return 33 + rng.IntN(16) }},
	{"one block", func(rng *rand.Rand, _ int) int { return 1 + rng.IntN(16) }},
	{"empty", func(*rand.Rand, int) int { return 0 }},
	{"empty or full", func(_ *rand.Rand, i int) int { return i % 2 * 48 }},
	{"short or long", func(rng *rand.Rand, _ int) int { return 46 + rng.IntN(2)*1440 }},
	{"around a group of blocks", func(rng *rand.Rand, _ int) int { return 230 + rng.IntN(60) }},
	{"around two", func(rng *rand.Rand, _ int) int { return 490 + rng.IntN(60) }},
	{"one long", func(_ *rand.Rand, i int) int { return 20 + max(0, 1-i)*4000 }},
	{"all long", func(rng *rand.Rand, _ int) int { return 2000 + rng.IntN(100) }},
}

// TestAESMessageLevels compares every batch length from 0 to 33, and others up to 300.
// Messages begin anywhere, and some end where a guard page begins.
func TestAESMessageLevels(t *testing.T) {
	forAESLevels(t, [16]byte{1: 5}, func(t *testing.T, a, generic *AES) {
		compareMessages(t, a, generic)
		compareShortBuffers(t, a, generic)
	})
}

func compareMessages(t *testing.T, d, generic MessageDigester) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	const size = 5000
	for _, front := range []bool{false, true} {
		buf := kerneltest.Guarded[byte](t, size, front)
		copy(buf, kerneltest.Pattern(size))
		for _, batch := range messageBatches {
			for n := 0; n <= 300; n++ {
				if n > 33 {
					n += rng.IntN(8)
				}
				msgs := make([]Message, n)
				for i := range msgs {
					msgs[i] = placeMessage(rng, batch.length(rng, i), size)
				}
				got, want := make([]Digest, n), make([]Digest, n)
				d.SumMessages(got, buf, msgs)
				generic.SumMessages(want, buf, msgs)
				if !slices.Equal(got, want) {
					t.Fatalf("%d messages, %s: digests differ", n, batch.name)
				}
			}
		}
	}
}

// compareShortBuffers has every message of buffers that are hardly longer than a kernel's
// single load.
func compareShortBuffers(t *testing.T, d, generic MessageDigester) {
	t.Helper()
	for size := range 40 {
		var msgs []Message
		for off := range size + 1 {
			for length := range size - off + 1 {
				msgs = append(msgs, Message{Off: uint32(off), Len: uint32(length), Tweak: uint64(off)})
			}
		}
		for _, front := range []bool{false, true} {
			buf := kerneltest.Guarded[byte](t, size, front)
			copy(buf, kerneltest.Pattern(size))
			got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
			d.SumMessages(got, buf, msgs)
			generic.SumMessages(want, buf, msgs)
			if !slices.Equal(got, want) {
				t.Fatalf("%d bytes: digests differ", size)
			}
		}
	}
}

// placeMessage puts a message anywhere in a buffer, often at one of its ends.
func placeMessage(rng *rand.Rand, length, size int) Message {
	at := rng.IntN(size - length + 1)
	switch rng.IntN(4) {
	case 0:
		at = size - length
	case 1:
		at = 0
	}
	return Message{Off: uint32(at), Len: uint32(length), Tweak: rng.Uint64()}
}

// TestAESSchedule checks the round keys of FIPS 197, appendix A.1.
func TestAESSchedule(t *testing.T) {
	key := [16]byte{0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c}
	want := [16]byte{0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89, 0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6}
	if got := newAESSchedule(key)[10]; got != want {
		t.Errorf("last round key %x, want %x", got, want)
	}
}

// FuzzAESLevels has the buffer between guard pages.
func FuzzAESLevels(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint64(1))
	f.Add(kerneltest.Pattern(600), uint64(2))
	f.Fuzz(func(t *testing.T, bytes []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		buf := kerneltest.Guarded[byte](t, len(bytes), seed%2 == 0)
		copy(buf, bytes)
		msgs := randomMessages(rng, rng.IntN(301), len(buf), len(buf))
		forAESLevels(t, [16]byte{9}, func(t *testing.T, a, generic *AES) {
			got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
			a.SumMessages(got, buf, msgs)
			generic.SumMessages(want, buf, msgs)
			if !slices.Equal(got, want) {
				t.Error("digests differ")
			}
		})
	})
}
