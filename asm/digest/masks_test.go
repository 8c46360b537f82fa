// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// masked digests messages, each with one of some masks, which its tweak chooses.
type masked struct {
	MessageDigester
	masks   *Masks
	numbers []uint8
}

func newMasked(t testing.TB, d MessageDigester) masked {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	m := masked{d, NewMasks(), []uint8{0}}
	for i := range 20 {
		mask := AllCount()
		for range rng.IntN(64) {
			mask.Drop(uint32(rng.IntN(MaskSize)), uint8(rng.Uint32())|uint8(-(i&1)))
		}
		number, ok := m.masks.Number(mask)
		if !ok {
			t.Fatal("no room for a mask")
		}
		m.numbers = append(m.numbers, number)
	}
	return m
}

func (m masked) which(msgs []Message) (which []uint8) {
	for i := range msgs {
		which = append(which, m.numbers[msgs[i].Tweak%uint64(len(m.numbers))])
	}
	return which
}

func (m masked) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	m.masks.Sum(dst, buf, msgs, m.which(msgs), m.MessageDigester)
}

// cleared does the same with a copy of each message, byte by byte.
type cleared struct{ masked }

func (m cleared) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	for i, number := range m.which(msgs) {
		one := slices.Clone(buf[msgs[i].Off:][:msgs[i].Len])
		var keep []byte
		for _, word := range m.masks.masks[number] {
			keep = binary.LittleEndian.AppendUint64(keep, word)
		}
		for j := range min(len(one), len(keep)) {
			one[j] &= keep[j]
		}
		m.MessageDigester.SumMessages(dst[i:], one, []Message{{Len: msgs[i].Len, Tweak: msgs[i].Tweak}})
	}
}

// TestMaskLevels compares masks with cleared copies at every level.
func TestMaskLevels(t *testing.T) {
	forAESLevels(t, [16]byte{3: 5}, func(t *testing.T, a, generic *AES) {
		compareMessages(t, newMasked(t, a), cleared{newMasked(t, generic)})
		compareShortBuffers(t, newMasked(t, a), cleared{newMasked(t, generic)})
	})
}

// TestMaskTwins does so for the plain forms.
func TestMaskTwins(t *testing.T) {
	a, h := newAES([16]byte{3: 5}, cpu.Generic), NewHighway([32]byte{1})
	for _, d := range []MessageDigester{a, h} {
		compareShortBuffers(t, newMasked(t, d), cleared{newMasked(t, d)})
	}
}

// TestMaskLengths has messages of every length up to three chunks of the kernel of VAES, and
// one that is longer than the memory for copies.
func TestMaskLengths(t *testing.T) {
	forAESLevels(t, [16]byte{4: 5}, func(t *testing.T, a, generic *AES) {
		const most = copiesSize + 100
		buf := kerneltest.Guarded[byte](t, most, false)
		copy(buf, kerneltest.Pattern(most))
		msgs := []Message{{Len: most, Tweak: 3}}
		for length := range 3*16*polyvalLongest + 100 {
			msgs = append(msgs, Message{Off: uint32(most - length), Len: uint32(length), Tweak: uint64(length)})
		}
		got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
		newMasked(t, a).SumMessages(got, buf, msgs)
		cleared{newMasked(t, generic)}.SumMessages(want, buf, msgs)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%d bytes: digests differ", msgs[i].Len)
			}
		}
	})
}

// TestMaskNumbers fills the room for masks, and finds them again.
func TestMaskNumbers(t *testing.T) {
	m := NewMasks()
	for i := range 300 {
		number, ok := m.Number(Mask{uint64(i)})
		if again, found := m.Number(Mask{uint64(i)}); again != number || found != ok || ok != (i < 255) {
			t.Fatalf("mask %d: %d, %v, then %d, %v", i, number, ok, again, found)
		}
	}
	if number, ok := m.Number(AllCount()); number != 0 || !ok {
		t.Errorf("the mask without effect has number %d, %v", number, ok)
	}
}

// TestMaskBounds checks that messages beyond the buffer panic at every level.
func TestMaskBounds(t *testing.T) {
	forAESLevels(t, [16]byte{}, func(t *testing.T, a, generic *AES) {
		for _, d := range []MessageDigester{a, generic, NewHighway([32]byte{})} {
			for _, m := range []Message{{Off: 60, Len: 5}, {Off: 1, Len: 64}, {Off: 1 << 31, Len: 1 << 31}} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%T: no panic for %+v", d, m)
						}
					}()
					NewMasks().Sum(make([]Digest, 2), make([]byte, 64), []Message{{Len: 64}, m}, []uint8{0, 0}, d)
				}()
			}
		}
	})
}

// FuzzMasks has the buffer between guard pages.
func FuzzMasks(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint64(1))
	f.Add(kerneltest.Pattern(3500), uint64(2))
	f.Fuzz(func(t *testing.T, bytes []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		buf := kerneltest.Guarded[byte](t, len(bytes), seed%2 == 0)
		copy(buf, bytes)
		msgs := randomMessages(rng, rng.IntN(301), len(buf), len(buf))
		forAESLevels(t, [16]byte{9}, func(t *testing.T, a, generic *AES) {
			got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
			newMasked(t, a).SumMessages(got, buf, msgs)
			cleared{newMasked(t, generic)}.SumMessages(want, buf, msgs)
			if !slices.Equal(got, want) {
				t.Error("digests differ")
			}
		})
	})
}
