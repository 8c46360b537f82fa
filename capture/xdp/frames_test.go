// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

// newBatch returns an empty batch with an interface.
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

// TestClock reads times that a kernel would have written, around the wrap of stamps too.
func TestClock(t *testing.T) {
	const unit = 2 << stampShift // the lowest bit of a stamp is not of its time
	for _, now := range []int64{1_795_000_000_000_000_000, 1 << 38 << 22, 1<<38<<22 + 5} {
		for _, tai := range []int64{0, 37_000_000_000} {
			c := clock{now, tai}
			for _, age := range []time.Duration{-time.Millisecond, 0, 1, unit, time.Millisecond, time.Second, 137 * time.Second} {
				at := now - int64(age)
				stamp := uint32((at+tai)>>stampShift) &^ stampTagged
				if stamp == 0 {
					continue // reads as none
				}
				for _, tagged := range []uint32{0, stampTagged} {
					if got := c.at(stamp | tagged); got < at-unit || got > at+unit {
						t.Errorf("now %d, TAI %d: %v ago is read as %v ago", now, tai, age, time.Duration(now-got))
					}
				}
			}
			if c.at(0) != now {
				t.Error("a time without a stamp")
			}
		}
	}
}

// TestStampedTags takes packets with stamps and tags out of memory.
func TestStampedTags(t *testing.T) {
	now := clock{now: 1_795_000_000_000_000_000, tai: 37_000_000_000}
	ago := func(d time.Duration) uint32 { return uint32((now.now-int64(d)+now.tai)>>stampShift) &^ stampTagged }
	packet := []byte("0123456789abcdefgh")
	for _, test := range []struct {
		name   string
		stamp  uint32
		tag    []byte // with the stamp's bit
		length int
		want   string
		lost   bool
	}{
		{name: "plain", length: 18, want: "0123456789abcdefgh"},
		{name: "tagged", tag: []byte{0x81, 0, 0, 0}, length: 18, want: "0123456789ab\x81\x00\x20\x07cdefgh"},
		{name: "service tag", tag: []byte{0x88, 0xA8, 0, 0}, length: 18, want: "0123456789ab\x88\xa8\x20\x07cdefgh"},
		{name: "too short", tag: []byte{0x81, 0, 0, 0}, length: 11, want: "0123456789a"},
		{name: "not told", tag: []byte{0, 0, 0, 0}, length: 18, want: "0123456789abcdefgh", lost: true},
	} {
		memory := make([]byte, 128)
		const at = 64
		copy(memory[at:], packet)
		stamp := ago(time.Second)
		if test.tag != nil {
			stamp |= stampTagged
			copy(memory[at-tagStampLen:], test.tag)
			binary.NativeEndian.PutUint16(memory[at-tagStampLen+2:], 0x2007)
		}
		binary.NativeEndian.PutUint32(memory[at-stampLen:], stamp)
		b, r := newBatch(), reader{snapLen: 1000, stamped: true}
		slots := []descriptor{{address: at, len: uint32(test.length)}}
		if used, err := r.take(b, memory, slots, 0, 1, now); used != 1 || err != nil || len(b.Frames) != 1 {
			t.Fatalf("%s: %d %v", test.name, used, err)
		}
		f := &b.Frames[0]
		if got := b.Data(0); !bytes.Equal(got, []byte(test.want)) || int(f.WireLen) != len(test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if age := time.Duration(now.now - f.Time); age < time.Second-time.Microsecond || age > time.Second+time.Microsecond {
			t.Errorf("%s: %v ago", test.name, age)
		}
		if r.lostTags != test.lost || r.tagged != uint64(len(test.want)-test.length)/tagLen {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

// TestCardTimes takes packets whose time may come from the network card.
func TestCardTimes(t *testing.T) {
	now := clock{now: 1_795_000_000_000_000_000, tai: 37_000_000_000}
	const card, at = 1_794_999_999_123_456_789, 64
	for _, hasTime := range []bool{false, true} {
		memory := make([]byte, 128)
		copy(memory[at:], "0123456789abcdefgh")
		if hasTime {
			binary.NativeEndian.PutUint64(memory[at-timedStampLen:], card)
		}
		copy(memory[at-tagStampLen:], []byte{0x81, 0, 0, 0})
		binary.NativeEndian.PutUint32(memory[at-stampLen:], uint32((now.now+now.tai)>>stampShift)|stampTagged)
		b, r := newBatch(), reader{snapLen: 1000, stamped: true, timed: true}
		slots := []descriptor{{address: at, len: 18}, {address: timedStampLen - 1}}
		if used, err := r.take(b, memory, slots, 0, 2, now); used != 1 || !errors.Is(err, capture.ErrDamaged) || len(b.Frames) != 1 {
			t.Fatalf("%d %v", used, err)
		}
		age := now.now - b.Frames[0].Time
		if hasTime && (b.Frames[0].Time != card || r.hardware != 1) || !hasTime && (age < -256 || age > 256 || r.hardware != 0) {
			t.Errorf("told: %v: time %d, %d of the card", hasTime, b.Frames[0].Time, r.hardware)
		}
		if got := string(b.Data(0)); got != "0123456789ab\x81\x00\x00\x00cdefgh" {
			t.Errorf("%q", got)
		}
	}
}

// TestConfigErrors refuses configurations that no capture can have.
func TestConfigErrors(t *testing.T) {
	for _, c := range []Config{
		{},
		{Interfaces: []string{"right", "right"}},
		{Interfaces: []string{"right"}, RingBytes: -1},
		{Interfaces: []string{"right"}, SnapLen: -1},
		{Interfaces: []string{"right"}, Idle: -1},
		{Interfaces: []string{"right"}, Delay: -1},
	} {
		if _, err := c.withDefaults(); err == nil {
			t.Errorf("%+v is possible", c)
		}
	}
	good := Config{Interfaces: []string{"right"}, RingBytes: 1, SnapLen: 1 << 30}
	if _, err := good.withDefaults(); err != nil {
		t.Error(err)
	}
}
