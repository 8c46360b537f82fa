// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
)

// TestJoiner remembers the last first fragments, whose datagrams may come again with other ports.
func TestJoiner(t *testing.T) {
	var j Joiner
	of := func(id uint32, first bool, port byte) *Fragment {
		f := &Fragment{datagram: fragments.Key{ID: id}, first: first}
		f.V4[tail4+1] = port
		return f
	}
	joined := func(id uint32) (port byte, ok bool) {
		f := of(id, false, 0)
		ok = j.Join(f) == Joined
		return f.V4[tail4+1], ok
	}
	if _, ok := joined(0); ok {
		t.Error("joined without a first fragment")
	}
	for id := range uint32(maxDatagrams) {
		if j.Join(of(id, true, byte(id%100))) != Unchanged {
			t.Fatal("a first fragment was changed")
		}
	}
	j.Join(of(7, true, 200))
	for id, want := range map[uint32]byte{0: 0, 7: 200, maxDatagrams - 1: byte((maxDatagrams - 1) % 100)} {
		if port, ok := joined(id); !ok || port != want {
			t.Errorf("datagram %d: port %d, %v; want %d", id, port, ok, want)
		}
	}
	j.Join(of(maxDatagrams, true, 1))
	if _, ok := joined(0); ok || len(j.tails) != maxDatagrams {
		t.Errorf("%d datagrams are remembered", len(j.tails))
	}
}

// TestJoinerWaits lets later fragments wait for their first, for a second, and for so many at most.
func TestJoinerWaits(t *testing.T) {
	var j Joiner
	const second = 1_000_000_000
	join := func(id uint32, first bool, at int64) Outcome {
		f := &Fragment{datagram: fragments.Key{ID: id}, first: first, Time: at, Frame: id}
		if first {
			f.V4[tail4+1] = 9
		}
		return j.Join(f)
	}
	settled := func() (ports []byte) {
		for _, f := range j.Settled() {
			ports = append(ports, byte(f.datagram.ID), f.V4[tail4+1])
		}
		return ports
	}
	for i, step := range []struct {
		id      uint32
		first   bool
		at      int64
		want    Outcome
		settled []byte // datagram and port
		unknown uint64
	}{
		{1, false, 0, Waits, nil, 0},
		{1, false, second, Waits, nil, 0},
		{2, false, second, Waits, nil, 0},
		{1, true, second, Unchanged, []byte{1, 9, 1, 9}, 0},
		{1, false, second, Joined, nil, 0},
		{3, false, second / 2, Waits, nil, 0},
		{2, true, 2*second + 1, Unchanged, []byte{2, 0, 3, 0}, 2},
		{4, false, 2*second + 1, Waits, nil, 2},
		{4, true, second, Unchanged, []byte{4, 0}, 3}, // as long before
		{5, false, capture.NoTime, Waits, nil, 3},
		{5, true, 90 * second, Unchanged, []byte{5, 9}, 3},
	} {
		if got := join(step.id, step.first, step.at); got != step.want {
			t.Errorf("step %d: outcome %d, want %d", i, got, step.want)
		}
		if got := settled(); !slices.Equal(got, step.settled) || j.Unknown() != step.unknown {
			t.Errorf("step %d: settled %v, want %v; %d unknown", i, got, step.settled, j.Unknown())
		}
	}
	for id := uint32(100); id < 100+maxDatagrams; id++ {
		join(id, false, capture.NoTime)
	}
	if got := settled(); got != nil {
		t.Errorf("%v wait no longer", got)
	}
	if join(9, false, capture.NoTime); !slices.Equal(settled(), []byte{100, 0}) {
		t.Error("the oldest makes no room")
	}
	if j.Expire(0); len(settled()) != 2*maxDatagrams || j.Waiting() || len(j.early) != 0 || j.order.Len() != 0 {
		t.Error("fragments still wait")
	}
}
