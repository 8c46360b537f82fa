// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"testing"

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
		ok = j.Join(f)
		return f.V4[tail4+1], ok
	}
	if _, ok := joined(0); ok {
		t.Error("joined without a first fragment")
	}
	for id := range uint32(maxDatagrams) {
		if j.Join(of(id, true, byte(id%100))) {
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
