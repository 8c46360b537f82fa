// SPDX-License-Identifier: Apache-2.0

package slice

import "github.com/flowdedup/flowdedup/engine/hubclient"

// keptReplies is how many of a site's last requests it may repeat: more than sensors have
// under way.
const keptReplies = 16

// Replies are the answers to the last requests of a site. A site repeats a request whose
// answer did not come: it gets the same answer, and is not counted again.
type Replies struct {
	Last [keptReplies]reply
	Next int
	// Askers know of requests whose answers are forgotten.
	Askers askers
}

// reply is an answer, with what tells its request from others: a site that starts again
// may use a number again.
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

// Valid reports whether they are as Keep makes them.
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

// Repeated reports whether a request may have come before, and whether its answer is remembered.
// reply is the subject that its answer goes to.
func (s *Replies) Repeated(reply string, r *hubclient.Request) (again, found bool) {
	_, found = s.Find(r)
	again = s.Askers.note(askerOf(reply), r.Seq) || found
	return again, found
}

// Keep remembers an answer in place of the oldest one.
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
