// SPDX-License-Identifier: Apache-2.0

package verify

// noteOriginal notes in s, the next packet of the input, the original that it is a copy of, or that it is
// an original: a packet that is a copy of no original before it. A kept packet may have the place of its
// original. With Config.Across an original may have a kept copy before it, which took the place of an
// earlier original. The latest original of an identity suffices: originals that are near each other are
// from one point. A removed packet that Config.Tolerance alone makes a copy may be an original.
func (c *copies) noteOriginal(s *inputPacket) {
	s.original = uint32(c.next + 1)
	latest := c.last(&s.identity)
	if latest <= c.first {
		return
	}
	at := latest - uint64(uint32(latest)-c.at(latest-1).original)
	if at <= c.first {
		return
	}
	k := c.at(at - 1)
	first := s.state != kept && c.cfg.Window > 0 && !c.cfg.Landmark && apart(s.time, k.time) > uint64(c.cfg.Window)
	if first || !c.copies(s, k) {
		return
	}
	if s.original = uint32(at); s.state == kept && k.state != kept {
		c.moved[s.identity] = moved{at, c.next + 1}
	}
}
