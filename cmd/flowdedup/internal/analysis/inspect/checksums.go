// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"github.com/flowdedup/flowdedup/capture/identity"
)

// Checksums count the copies at a point by the checksum of TCP, UDP or ICMP, as
// identity.IntegrityOf judges it: first sightings there, and copies. A packet counts once for
// each copy. Packets without a checksum that can be verified do not count.
type Checksums struct {
	FirstValid uint64 `json:"first_valid"`
	FirstWrong uint64 `json:"first_wrong"`
	CopyValid  uint64 `json:"copy_valid"`
	CopyWrong  uint64 `json:"copy_wrong"`
}

// verify notes whether the checksum is right.
func (s *sighting) verify(integrity identity.Integrity) {
	switch integrity {
	case identity.ValidChecksum:
		s.flags |= validSum
	case identity.WrongChecksum:
		s.flags |= wrongSum
	case identity.Truncated:
		s.flags |= truncated
	}
}

// checksums has the counts of all points, by their numbers.
type checksums []Checksums

// add counts a copy that stands for weight copies.
func (c *checksums) add(first, copied *sighting, weight uint64) {
	for int(max(first.point, copied.point)) >= len(*c) {
		*c = append(*c, Checksums{})
	}
	at := &(*c)[first.point]
	at.FirstValid += weight * count(first.flags&validSum != 0)
	at.FirstWrong += weight * count(first.flags&wrongSum != 0)
	at = &(*c)[copied.point]
	at.CopyValid += weight * count(copied.flags&validSum != 0)
	at.CopyWrong += weight * count(copied.flags&wrongSum != 0)
}

// report returns the counts of the points that have any.
func (c checksums) report(name func(point uint32) string) map[string]Checksums {
	all := map[string]Checksums{}
	for i, n := range c {
		if n != (Checksums{}) {
			one := all[name(uint32(i))]
			one.FirstValid, one.FirstWrong = one.FirstValid+n.FirstValid, one.FirstWrong+n.FirstWrong
			one.CopyValid, one.CopyWrong = one.CopyValid+n.CopyValid, one.CopyWrong+n.CopyWrong
			all[name(uint32(i))] = one
		}
	}
	return all
}
