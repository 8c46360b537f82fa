// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"crypto/sha256"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
)

// maxAhead bounds how many packets of the output the Verifier may be ahead of a rule.
const maxAhead = 1 << 16

// rule checks an output in a second way: a packet belongs to it if and only if it is no copy
// of a packet before it that belongs to it. If the output agrees, nothing is lost.
//
// The Verifier by itself does not suffice if packets are equal, also in their times. It takes
// the first of them for the packets in the output, but other packets may reach other copies. Of 12
// equal packets in a row, a window of 5 packets keeps the first and the seventh, and the
// Verifier takes the first two for these. In an output that was cut or lacks headers, other packets are equal,
// too.
//
// An output that still has copies does not agree with the rule: copies that a small filter
// missed, or that --protect kept.
type rule struct {
	copies *copies
	ahead  []written // packets of the output that the Verifier has passed and the rule has not
	broken bool
}

// written is what a packet of the output and the packet of the input that the rule keeps have in common.
// The packet that the Verifier took may have other options, and another interface if the output has no names.
type written struct {
	content [sha256.Size]byte
	iface   *capture.Interface
}

// needsRule reports whether packets that are equal, also in their times, may reach
// different copies.
func needsRule(cfg *Config) bool {
	stripped := cfg.Strip != nil && cfg.Identity.Kind != identity.Inner // else packets that become equal are equal
	return cfg.Packets > 0 || cfg.Across || cfg.Within != 0 || cfg.Slice != Slice{} || stripped
}

// add takes packet i of a batch as the output has it, cut to left bytes. If it is kept, the
// Verifier has found it to be the next packet of the output, which has an interface there. An undecidable
// packet stays, and is no original.
func (r *rule) add(b *capture.Batch, i, left int, s inputPacket, iface *capture.Interface, undecidable bool) {
	if r.broken {
		return
	}
	taken := s.state == kept
	stays := undecidable
	if !undecidable {
		r.copies.date(&s)
		if stays = !r.isCopy(&s); stays || r.copies.cfg.Refresh {
			s.state, s.joined = kept, !stays
			r.copies.push(&s)
		}
	}
	if stays == taken && len(r.ahead) == 0 {
		return
	}
	content := contentOf(b, i, left)
	if taken {
		r.ahead = append(r.ahead, written{content, iface})
	}
	switch {
	case !stays && len(r.ahead) <= maxAhead:
	case stays && len(r.ahead) > 0 && r.ahead[0].content == content && sameInterface(&b.Interfaces[b.Frames[i].Interface], r.ahead[0].iface):
		r.ahead = r.ahead[1:]
	default:
		*r = rule{broken: true} // which needs no memory
	}
}

// isCopy reports whether the latest original of a packet's identity has it as a copy. Where times go back, an
// earlier original may be nearer.
func (r *rule) isCopy(s *inputPacket) bool {
	c := r.copies
	if cfg := c.cfg; cfg.Across || cfg.Landmark || cfg.Refresh || cfg.Within&traits.PointLAN != 0 {
		return c.isCopy(s)
	}
	for at := c.last(&s.identity); at > c.first; {
		k := c.at(at - 1)
		if k.within == s.within && (s.unfit || !k.unfit) {
			return c.copies(s, k)
		}
		at = k.before
	}
	return false
}

// agrees reports whether the output, which has ended, agrees with the rule.
func (r *rule) agrees() bool { return r != nil && !r.broken && len(r.ahead) == 0 }
