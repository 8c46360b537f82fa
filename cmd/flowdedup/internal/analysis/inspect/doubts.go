// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// doubt says that too little of a packet is compared to know it from others: see identity.Doubt.
type doubt uint8

const (
	known        doubt = iota
	checksumOnly       // a checksum of 16 bits is all that numbers it
	unknown
)

// doubtReader reads the doubts about packets of a group. Identities of inspections leave the
// checksum out, and it is compared separately from the digest. So it has an identity of its
// own.
type doubtReader struct {
	identity *identity.Identity
	of       [capture.GroupSize]doubt
}

func (n *Inspector) newDoubtReader(bytes int) *doubtReader {
	return &doubtReader{identity: identity.New(identity.Config{Kind: identity.Inner, Bytes: bytes, Tunnels: n.cfg.Tunnels})}
}

// read replaces the doubts of the group before by those in all, of n packets.
func (r *doubtReader) read(all []identity.Doubt, n int) {
	clear(r.of[:n])
	for _, one := range all {
		if r.of[one.Number] = unknown; one.Checksum {
			r.of[one.Number] = checksumOnly
		}
	}
}

// alike counts a packet that is known only by a checksum, or in doubt, if it equals one within a
// window. Filters remove the former, and the latter if it is of another point and they look only
// there. Nothing else is concluded from it.
func (m *measure) alike(e *entry, s *sighting, is doubt) {
	v := m.table.judge(e, s, &m.owner.windows)
	if is == unknown {
		v.anywhere = 0
	} else if distance(s.time, e.time) <= uint64(m.owner.windows[windows-1]) {
		m.checksumOnly += s.weight()
	}
	v.count(&m.doubtful, s.weight())
	m.table.restart(e, s)
}
