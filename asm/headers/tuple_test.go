// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// tuple is a list's data of a datagram.
type tuple struct {
	version   int
	frame, at uint32
	tail      uint64
}

// tupleModel reads one frame, step by step; ok is false if it takes the slow path.
func tupleModel(m digest.Message, buf []byte, untyped bool, slowPath *[2][256]bool, ports *[256]bool) (t tuple, ok bool) {
	at, captured := int(m.Off), int(m.Len)
	for tags := 0; ; tags++ {
		if at+58 > len(buf) {
			return t, false
		}
		typ := binary.BigEndian.Uint16(buf[at+12:])
		if untyped {
			typ = map[byte]uint16{4: 0x0800, 6: 0x86dd}[buf[at+14]>>4]
		}
		if typ == 0x0800 || typ == 0x86dd {
			t.version = int(typ >> 15)
			break
		}
		if tags == 2 || !slices.Contains([]uint16{0x8100, 0x88a8, 0x9100}, typ) {
			return t, false
		}
		if tags == 0 {
			t.tail = 1<<16 | uint64(binary.BigEndian.Uint16(buf[at+14:])&0xfff)
		}
		at, captured = at+4, captured-4
	}
	ip := buf[at+14 : at+58]
	header, stated, number := 20, int(binary.BigEndian.Uint16(ip[2:])), ip[9]
	plain := ip[0] == 0x45 && binary.BigEndian.Uint16(ip[6:])&0x3fff == 0
	if t.version == 1 {
		header, stated, number = 40, 40+int(binary.BigEndian.Uint16(ip[4:])), ip[6]
		plain = ip[0]>>4 == 6
	}
	t.at = uint32(at + 14)
	t.tail |= uint64(number) << 24
	if ports[number] {
		t.tail |= uint64(binary.BigEndian.Uint32(ip[header:])) << 32
	}
	return t, plain && !slowPath[t.version][number] && min(stated, captured-14) >= header+4
}

// guardedList returns a list with room for n datagrams and no more.
func guardedList(t *testing.T, n int) *TupleList {
	room := n + tupleSlack
	return &TupleList{
		Frame: kerneltest.Guarded[uint32](t, room, false)[:0],
		At:    kerneltest.Guarded[uint32](t, room, false)[:0],
		Tail:  kerneltest.Guarded[uint64](t, room, false)[:0],
	}
}

// TestTuples compares lists with the model, with few frames for the slow path and many.
func TestTuples(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		for n := range 301 {
			var slowPath [2][256]bool
			var ports [256]bool
			for i := range ports {
				slowPath[0][i], slowPath[1][i], ports[i] = rng.IntN(100) == 0, rng.IntN(100) == 0, rng.IntN(2) == 0
			}
			tuples, untyped := NewTuples(&slowPath, &ports), n%2 == 0
			if untyped {
				tuples = tuples.Untyped()
			}
			msgs, buf := tupleFrames(t, rng, n, untyped)
			four, six := guardedList(t, n), guardedList(t, n)
			done := tuples.List(four, six, msgs, 1000, buf)
			var want [2][]tuple
			for i, m := range msgs {
				got, ok := tupleModel(m, buf, untyped, &slowPath, &ports)
				if got.frame = 1000 + uint32(i); i < done {
					if !ok {
						t.Fatalf("%d messages: number %d was listed", n, i)
					}
					want[got.version] = append(want[got.version], got)
				} else if ok && i == done {
					t.Fatalf("%d messages: number %d was left out", n, i)
				}
			}
			for version, l := range []*TupleList{four, six} {
				checkTuples(t, l, want[version])
			}
		}
	})
}

func checkTuples(t *testing.T, l *TupleList, want []tuple) {
	t.Helper()
	if len(l.Frame) != len(want) || len(l.At) != len(want) || len(l.Tail) != len(want) {
		t.Fatalf("%d, %d, %d datagrams, want %d", len(l.Frame), len(l.At), len(l.Tail), len(want))
	}
	for i, w := range want {
		if got := (tuple{w.version, l.Frame[i], l.At[i], l.Tail[i]}); got != w {
			t.Fatalf("datagram %d: got %x, want %x", i, got, w)
		}
	}
}

// tupleFrames draws frames. Few or none of them take the slow path.
func tupleFrames(t *testing.T, rng *rand.Rand, n int, untyped bool) (msgs []digest.Message, buf []byte) {
	msgs, buf = someFrames(t, rng, n)
	for i := range msgs {
		for range 100 {
			if _, ok := tupleModel(msgs[i], buf, untyped, &[2][256]bool{}, &[256]bool{}); ok || rng.IntN(1000) == 0 {
				break
			}
			msgs[i] = msgs[rng.IntN(len(msgs))]
		}
	}
	return msgs, buf
}

func TestTuplesPanics(t *testing.T) {
	for _, room := range [][2]int{{0, 9}, {9, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %v", room)
				}
			}()
			tuples := NewTuples(&[2][256]bool{}, &[256]bool{})
			tuples.List(guardedList(t, room[0]), guardedList(t, room[1]), make([]digest.Message, 9), 0, nil)
		}()
	}
}

func BenchmarkTuples(b *testing.B) {
	for _, ipv6 := range []int{0, 20} {
		msgs, buf := benchFrames(ipv6)
		var four, six TupleList
		four.Reset(len(msgs))
		six.Reset(len(msgs))
		tuples := NewTuples(&[2][256]bool{}, &[256]bool{})
		b.Run(fmt.Sprintf("ipv6=%d", ipv6), func(b *testing.B) {
			kerneltest.MeasureCached(b, len(msgs), func() {
				four.Resize(0)
				six.Resize(0)
				tuples.List(&four, &six, msgs, 0, buf)
			})
		})
	}
}
