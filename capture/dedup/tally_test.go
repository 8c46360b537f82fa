// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestFrameLayout compares the frames of batches with the layout that kernels read.
func TestFrameLayout(t *testing.T) {
	var f capture.Frame
	var k frames.Frame
	got := []uintptr{unsafe.Offsetof(f.Time), unsafe.Offsetof(f.Data), unsafe.Offsetof(f.CapLen), unsafe.Offsetof(f.WireLen), unsafe.Offsetof(f.Interface), unsafe.Offsetof(f.Record), unsafe.Offsetof(f.RecordLen), unsafe.Sizeof(f)}
	want := []uintptr{unsafe.Offsetof(k.Time), unsafe.Offsetof(k.Data), unsafe.Offsetof(k.CapLen), unsafe.Offsetof(k.WireLen), unsafe.Offsetof(k.Interface), unsafe.Offsetof(k.Record), unsafe.Offsetof(k.RecordLen), unsafe.Sizeof(k)}
	if !slices.Equal(got, want) {
		t.Errorf("offsets %d, want %d", got, want)
	}
}

// plainTally counts packet by packet.
func plainTally(all []capture.Frame, protocols []headers.Protocol) (t Tally, times []int64) {
	t = NewTally()
	for i, f := range all {
		t.Packets++
		t.Bytes += uint64(f.CapLen)
		if protocols[i] == headers.NonIP {
			t.NonIP++
		}
		times = append(times, calendar.Usable(f.Time))
		if f.Time == capture.NoTime {
			t.Untimed++
			continue
		}
		if t.First == capture.NoTime {
			t.First = f.Time
		}
		if f.Time < t.Last {
			t.OutOfOrder++
		}
		t.Last = f.Time
	}
	return t, times
}

// TestTally cuts streams at random, in which few, some or all packets have no usable time.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for round := range 400 {
		all, protocols := make([]capture.Frame, rng.IntN(200)), make([]headers.Protocol, 200)
		odd := []int{0, 1, 30, 100}[round%4]
		for i := range all {
			all[i] = capture.Frame{Time: rng.Int64N(1 << 40), CapLen: rng.Uint32N(100), WireLen: rng.Uint32N(100)}
			if rng.IntN(100) < odd {
				all[i].Time = []int64{capture.NoTime, math.MaxInt64}[rng.IntN(2)]
			}
			protocols[i] = headers.Protocol(rng.UintN(257))
		}
		got, times := NewTally(), make([]int64, len(all))
		for from := 0; from < len(all); {
			to, part := min(len(all), from+1+rng.IntN(90)), NewTally()
			part.add(times[from:to], all[from:to], protocols[from:to])
			got.merge(&part)
			from = to
		}
		want, wanted := plainTally(all, protocols)
		if got != want || !slices.Equal(times, wanted) {
			t.Fatalf("%d packets: got %+v, want %+v", len(all), got, want)
		}
	}
}

// TestNonIP counts in runs of all lengths around the number that is counted at once.
func TestNonIP(t *testing.T) {
	all := make([]headers.Protocol, 1<<17+9)
	for i := range all {
		all[i] = headers.NonIP
	}
	for _, n := range []int{0, 1, 3, 4, 5, 31, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1 << 16, len(all)} {
		if got := nonIP(all[:n]); got != uint64(n) {
			t.Errorf("%d of %d", got, n)
		}
	}
	for i := range all {
		all[i] = headers.Protocol(i % 257)
	}
	want := uint64(0)
	for i := range all[1:] {
		if all[i+1] == headers.NonIP {
			want++
		}
	}
	if got := nonIP(all[1:]); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

// TestHubCount counts the copies of a hub in all words of a batch.
func TestHubCount(t *testing.T) {
	h := hub{found: HubCounts{ByProtocol: make([]uint64, headers.ProtocolCount)}}
	b, protocols, copies := &capture.Batch{}, make([]headers.Protocol, 200), make([]uint64, 4)
	want := HubCounts{ByProtocol: make([]uint64, headers.ProtocolCount)}
	for i := range protocols {
		b.Frames = append(b.Frames, capture.Frame{CapLen: uint32(1 << (i % 30))})
		if protocols[i] = headers.Protocol(i / 70); i%63 == 5 {
			capture.SetBit(copies, i)
			want.Copies++
			want.Bytes += uint64(b.Frames[i].CapLen)
			want.ByProtocol[i/70]++
		}
	}
	h.count(b, copies, protocols)
	if !reflect.DeepEqual(h.found, want) {
		t.Errorf("%+v, want %+v", h.found, want)
	}
}
