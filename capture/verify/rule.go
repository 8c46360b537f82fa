package verify

import (
	"crypto/sha256"

	"github.com/flowdedup/flowdedup/capture"
)

// maxAhead bounds the packets of an output that a rule has not come to yet.
const maxAhead = 1 << 16

// rule checks an output in another way: a packet is in it if and only if it is no copy of
// one before that is. The Verifier takes a packet for one of the output where it can, and
// so the first of several that are equal, also in their times. That says too little where
// they reach different copies: of 12 in a row, a window of 5 packets keeps the first and
// the seventh, and the Verifier takes the first two for them. If an output agrees with the
// rule, nothing is lost.
//
// An output that has copies (by a small filter, or by what --protect says) does not agree
// with it.
type rule struct {
	copies *copies
	ahead  [][sha256.Size]byte // packets of the output that the Verifier has passed and the rule has not
	broken bool
}

// needsRule reports whether packets that are equal, also in their times, may reach
// different copies.
func needsRule(cfg *Config) bool {
	return !cfg.Refresh && (cfg.Packets > 0 || cfg.Across || cfg.Within != 0)
}

// add takes packet i of a batch, which the Verifier has taken for the next of the output if
// it is kept.
func (r *rule) add(b *capture.Batch, i int, s sighting) {
	if r == nil || r.broken {
		return
	}
	taken := s.state == kept
	r.copies.date(&s)
	stays := !r.copies.isCopy(&s)
	if stays {
		s.state = kept
		r.copies.push(s)
	}
	if stays == taken && len(r.ahead) == 0 {
		return
	}
	this := exactOf(b, i)
	if taken {
		r.ahead = append(r.ahead, this)
	}
	switch {
	case !stays && len(r.ahead) <= maxAhead:
	case stays && len(r.ahead) > 0 && r.ahead[0] == this:
		r.ahead = r.ahead[1:]
	default:
		*r = rule{broken: true} // which needs no memory
	}
}

// agrees reports whether the output, which has ended, agrees with the rule.
func (r *rule) agrees() bool { return r != nil && !r.broken && len(r.ahead) == 0 }

// exactOf hashes what [same] compares.
func exactOf(b *capture.Batch, i int) [sha256.Size]byte {
	content := contentOf(b, i)
	return sha256.Sum256(append(append(content[:], b.Interfaces[b.Frames[i].Interface].Name...), options(b, i)...))
}
