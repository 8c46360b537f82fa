// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// remembered is how many packets a Marker remembers: 33 MiB of them.
const remembered = 200_000

// memory remembers the packets that were kept last. Those whose digests agree in some bits
// are a chain, from the newest to the oldest. The oldest packet of all makes room for each
// new one. Nothing removes it from its chain: a chain ends at a place that is too old.
type memory struct {
	rows    []row
	newest  []uint64 // of each chain, whose number is a power of two: its place plus 1
	entered uint64   // rows so far; row number n is at place n modulo len(rows)
}

// row is a packet that was kept.
type row struct {
	digest digest.Digest
	before uint64 // in its chain, as memory.newest
	packet packet
}

func newMemory(rows int) memory {
	return memory{rows: make([]row, rows), newest: make([]uint64, 1<<bits.Len(uint(rows)))}
}

// chain returns the newest of the chain of a digest.
func (m *memory) chain(d digest.Digest) *uint64 { return &m.newest[d[0]&uint64(len(m.newest)-1)] }

// enter remembers a packet that was kept.
func (m *memory) enter(d digest.Digest, p *packet) {
	first := m.chain(d)
	m.rows[m.entered%uint64(len(m.rows))] = row{digest: d, before: *first, packet: *p}
	m.entered++
	*first = m.entered
}

// find returns the packet with this digest that was entered last, or nil.
func (m *memory) find(d digest.Digest) *packet {
	for n := *m.chain(d); n > 0 && m.entered-n < uint64(len(m.rows)); {
		r := &m.rows[(n-1)%uint64(len(m.rows))]
		if r.digest == d {
			return &r.packet
		}
		n = r.before
	}
	return nil
}
