// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package digest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// lanes digests messages with the text of the kernel of VAES, but lane by lane.
type lanes struct{ *AES }

func (l lanes) SumMessages(dst []Digest, buf []byte, msgs []Message) {
	if len(msgs) > 0 && sumMessagesLanes(&dst[0], unsafe.SliceData(buf), len(buf), &msgs[0], len(msgs), l.messages) < len(msgs) {
		panic(beyondBuf("lanes"))
	}
}

// newLanes returns both forms of AES, or skips a test on CPUs that have no AVX-512.
func newLanes(t *testing.T, key [16]byte) (l lanes, generic *AES) {
	t.Helper()
	if !slices.Contains(cpu.Levels(), cpu.AVX512) || !slices.Contains(cpu.AESLevels(), cpu.AESNI) {
		t.Skip("needs AVX-512 and AES-NI")
	}
	generic = newAES(key, cpu.Generic)
	return lanes{generic}, generic
}

// TestMessageLanes is TestAESMessageLevels for the text of the kernel of VAES.
func TestMessageLanes(t *testing.T) {
	l, generic := newLanes(t, [16]byte{1: 5})
	compareMessages(t, l, generic)
	compareShortBuffers(t, l, generic)
}

// TestMessageLanesLengths has messages of every length up to three chunks, at every place
// of a group of four, among short and long ones.
func TestMessageLanesLengths(t *testing.T) {
	l, generic := newLanes(t, [16]byte{2: 5})
	const most = 3*16*polyvalLongest + 100
	buf := kerneltest.Guarded[byte](t, most, false)
	copy(buf, kerneltest.Pattern(most))
	step := 1
	if testing.Short() {
		step = 7
	}
	for length := 0; length <= most; length += step {
		var msgs []Message
		for i := range 4 + length%4 {
			msgs = append(msgs, Message{Off: uint32(most - length), Len: uint32(length), Tweak: uint64(i)})
			for range (length/4 + i) % 3 {
				msgs = append(msgs, Message{Off: uint32(i), Len: uint32(i * 40)})
			}
		}
		got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
		l.SumMessages(got, buf, msgs)
		generic.SumMessages(want, buf, msgs)
		if !slices.Equal(got, want) {
			t.Fatalf("%d bytes: digests differ", length)
		}
	}
}

// FuzzMessageLanes has the buffer between guard pages.
func FuzzMessageLanes(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint64(1))
	f.Add(kerneltest.Pattern(600), uint64(2))
	f.Add(kerneltest.Pattern(3500), uint64(3))
	f.Fuzz(func(t *testing.T, bytes []byte, seed uint64) {
		l, generic := newLanes(t, [16]byte{9})
		rng := rand.New(rand.NewPCG(seed, 0))
		buf := kerneltest.Guarded[byte](t, len(bytes), seed%2 == 0)
		copy(buf, bytes)
		msgs := randomMessages(rng, rng.IntN(301), len(buf), len(buf))
		got, want := make([]Digest, len(msgs)), make([]Digest, len(msgs))
		l.SumMessages(got, buf, msgs)
		generic.SumMessages(want, buf, msgs)
		if !slices.Equal(got, want) {
			t.Error("digests differ")
		}
	})
}
