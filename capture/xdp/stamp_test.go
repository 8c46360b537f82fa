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
