// SPDX-License-Identifier: Apache-2.0

package inspect

import "testing"

// TestPool fills several chunks: new entries are zeros, and all stay where they are.
func TestPool(t *testing.T) {
	const n = 10 << firstChunk
	var p pool
	var all []*entry
	for i := range n {
		number := p.add()
		e := p.at(number)
		if number != uint32(i) || *e != (entry{}) {
			t.Fatalf("entry %d has number %d, and %+v", i, number, *e)
		}
		e.hash = uint64(i)
		all = append(all, e)
	}
	for i, e := range all {
		if p.at(uint32(i)) != e || e.hash != uint64(i) {
			t.Fatalf("entry %d moved, or is %d", i, e.hash)
		}
	}
	if most := len(p.chunks); most != 4 || p.bytes() < n*64 {
		t.Errorf("%d chunks, %d bytes", most, p.bytes())
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
