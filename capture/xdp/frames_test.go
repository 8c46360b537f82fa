// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// newBatch returns an empty batch with one interface.
func newBatch() *capture.Batch {
	b := &capture.Batch{}
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	b.Reset()
	return b
}

func TestTake(t *testing.T) {
	memory := make([]byte, 64)
	for i := range memory {
		memory[i] = byte(i)
	}
	tests := []struct {
		name  string
		slots [4]descriptor
		from  uint32
		n     uint32 // of descriptors
		want  [][]byte
		used  uint32
		bad   bool
	}{
		{name: "none"},
		{name: "around the end", slots: [4]descriptor{3: {address: 8, len: 8}, 0: {address: 20, len: 4}}, from: 3, n: 2,
			want: [][]byte{memory[8:16], memory[20:24]}, used: 2},
		{name: "around 2^32", slots: [4]descriptor{3: {address: 8, len: 8}, 0: {address: 60, len: 4}}, from: 1<<32 - 1, n: 2,
			want: [][]byte{memory[8:16], memory[60:]}, used: 2},
		{name: "parts", slots: [4]descriptor{{address: 8, len: 8, options: continued}, {address: 20, len: 4}, {address: 31, len: 1}}, n: 3,
			want: [][]byte{append(bytes.Clone(memory[8:16]), memory[20:24]...), memory[31:32]}, used: 3},
		{name: "a part missing", slots: [4]descriptor{{address: 8, len: 8}, {address: 20, len: 4, options: continued}}, n: 2,
			want: [][]byte{memory[8:16]}, used: 1},
		{name: "without end", slots: [4]descriptor{{address: 8, options: continued}, {address: 8, options: continued}, {address: 8, options: continued}, {address: 8, options: continued}}, n: 4, bad: true},
		{name: "beyond", slots: [4]descriptor{{address: 20, len: 4}, {address: 60, len: 5}}, n: 2, want: [][]byte{memory[20:24]}, used: 1, bad: true},
		{name: "far beyond", slots: [4]descriptor{{address: 1<<64 - 2, len: 4}}, n: 1, bad: true},
		{name: "no room for a stamp", slots: [4]descriptor{{address: 7, len: 4}}, n: 1, bad: true},
		{name: "part beyond", slots: [4]descriptor{{address: 8, len: 4, options: continued}, {address: 65}}, n: 2, bad: true},
		{name: "too many", n: 5, bad: true},
	}
	for _, test := range tests {
		b := newBatch()
		r := reader{snapLen: 100}
		used, err := r.take(b, memory, test.slots[:], test.from, test.from+test.n, clock{now: 5})
		if used != test.used || (err != nil) != test.bad || err != nil && !errors.Is(err, capture.ErrDamaged) {
			t.Errorf("%s: %d used, %v", test.name, used, err)
		}
		if len(b.Frames) != len(test.want) || r.delivered != uint64(len(test.want)) {
			t.Errorf("%s: %d frames", test.name, len(b.Frames))
			continue
		}
		for i, want := range test.want {
			if got := b.Data(i); !bytes.Equal(got, want) || b.Frames[i].Time != 5 {
				t.Errorf("%s: frame %d is %x, want %x", test.name, i, got, want)
			}
		}
	}
}

// TestTakeAllocates checks that a batch that has grown grows no more.
func TestTakeAllocates(t *testing.T) {
	memory, slots := make([]byte, 1<<20), make([]descriptor, 1<<9)
	for i := range slots {
		slots[i] = descriptor{address: uint64(i)<<11 + 256, len: 400}
	}
	b, r := newBatch(), reader{snapLen: 1000}
	take := func() {
		b.Reset()
		if n, err := r.take(b, memory, slots, 7, 7+1<<9, clock{}); err != nil || n != 1<<9 {
			t.Fatal(n, err)
		}
	}
	take()
	if n := testing.AllocsPerRun(10, take); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzTake checks that no descriptors lead outside of memory.
func FuzzTake(f *testing.F) {
	f.Add([]byte("\x00\x00\x10\x00\x00\x10\x08\x01\xff\xff\x01\x00"), uint32(3), uint32(4))
	f.Add([]byte("\x00\x00\x10\x00\x00\x10\x08\x00"), uint32(1<<32-1), uint32(2))
	f.Fuzz(func(t *testing.T, spec []byte, from, n uint32) {
		memory, slots := make([]byte, 1<<12), make([]descriptor, 8)
		for i := range slots {
			if len(spec) < 5 {
				break
			}
			slots[i] = descriptor{
				address: uint64(int16(binary.LittleEndian.Uint16(spec))), len: uint32(int16(binary.LittleEndian.Uint16(spec[2:]))),
				options: uint32(spec[4]),
			}
			spec = spec[5:]
		}
		b, r := newBatch(), reader{snapLen: 1 << 10, stamped: n%2 == 0, timed: n%4 == 0}
		for i := range memory {
			memory[i] = byte(i * int(n))
		}
		used, err := r.take(b, memory, slots, from, from+n, clock{now: 1})
		if used > n || err == nil && n > uint32(len(slots)) {
			t.Fatalf("%d used of %d, %v", used, n, err)
		}
		if uint32(len(b.Frames)) > used {
			t.Fatalf("%d frames of %d descriptors", len(b.Frames), used)
		}
		for i := range b.Frames {
			if len(b.Data(i)) > 1<<10 {
				t.Fatalf("frame %d is long", i)
			}
		}
	})
}
