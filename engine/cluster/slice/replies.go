// SPDX-License-Identifier: Apache-2.0

package slice

import "github.com/flowdedup/flowdedup/engine/hubclient"

// keptReplies bounds the answers to a site that are kept for repeated requests: more than
// sensors have under way.
const keptReplies = 16

// Replies are the answers to the last requests of a site. A site repeats a request whose
// answer did not come: it gets the same answer, and is not counted again.
type Replies struct {
	Last [keptReplies]reply
	Next int
	// Askers remembers requests whose answers are forgotten.
	Askers Askers
}

// reply is an answer, with the identity of its request: a site that starts again may use
// a number again.
type reply struct {
	Seq    uint64
	Time   uint64
	Op     hubclient.Op
	First  uint64 // digest
	N      int    // 0 for none
	Copies []byte
}

func (p *reply) is(r *hubclient.Request) bool {
	return p.Seq == r.Seq && p.N == len(r.Digests) && p.N > 0 && p.Time == r.Time && p.Op == r.Op && p.First == r.Digests[0]
}

// Valid reports whether Keep can have made the replies.
func (s *Replies) Valid() bool {
	for i := range s.Last {
		if p := &s.Last[i]; p.N < 0 || p.N > hubclient.MaxDigests || len(p.Copies) != (p.N+7)/8 {
			return false
		}
	}
	return s.Next >= 0 && s.Next < keptReplies && len(s.Askers.All) <= keptAskers
}

// Find returns the answer to a request that came before.
func (s *Replies) Find(r *hubclient.Request) (copies []byte, ok bool) {
	for i := range s.Last {
		if s.Last[i].Seq == r.Seq && s.Last[i].is(r) {
			return s.Last[i].Copies, true
		}
	}
	return nil, false
}

// Repeated reports whether a request may have come before, and whether its answer is
// remembered. reply is the subject of its answer.
func (s *Replies) Repeated(reply string, r *hubclient.Request) (again, found bool) {
	_, found = s.Find(r)
	again = s.Askers.Note(AskerOf(reply), r.Seq) || found
	return again, found
}

// Keep remembers an answer in place of the oldest answer.
func (s *Replies) Keep(r *hubclient.Request, copies []byte) {
	if len(r.Digests) == 0 {
		return
	}
	p := &s.Last[s.Next%keptReplies]
	s.Next = (s.Next + 1) % keptReplies
	*p = reply{
		Seq: r.Seq, Time: r.Time, Op: r.Op, First: r.Digests[0], N: len(r.Digests),
		Copies: append(p.Copies[:0], copies...),
	}
}
