// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// unfit are the packets of a batch that cannot stand for an equal one that is fit: no receiver
// takes them, the reader of the output does not open their headers (Parts.Unreadable), or
// checksums say so (Parts.Intact): theirs is wrong, or they were truncated, so that it cannot be
// verified. Otherwise a sender could send each packet in such a form first, and the right one would
// be taken for its copy. Unfit packets have digests of their own, so the filter compares them with
// each other only.
type unfit struct {
	words     int
	some      bool                 // whether there are any
	all       []uint64             // a bit for each; of no meaning unless some
	integrity []identity.Integrity // of all packets; empty without Parts.Intact
	chosen    []uint64
	headers   []headers.Header
}

// reset begins a batch of n packets.
func (u *unfit) reset(n int, intact bool) {
	u.words, u.some, u.integrity = (n+63)/64, false, u.integrity[:0]
	if intact {
		u.integrity = capture.Resize(u.integrity, n)
	}
}

// readUnfit finds the unfit packets from from to to-1.
func (p *BatchDetector) readUnfit(b *capture.Batch, from, to int) {
	u := &p.unfit
	u.add(p.messages.Broken(), from)
	if unreadable := p.detector.parts.Unreadable; unreadable != nil {
		u.chosen = capture.Resize(u.chosen, (to-from+63)/64)
		unreadable(u.chosen, b, from, to)
		u.add(u.chosen, from)
	}
	if !p.detector.parts.Intact {
		return
	}
	u.headers = capture.Resize(u.headers, to-from)
	p.decoder.Decode(u.headers, b, from)
	for i := range u.headers {
		u.note(from+i, identity.IntegrityOf(&u.headers[i], b, from+i), p.detector.parts.Across)
	}
}

// note notes the integrity of packet i.
func (u *unfit) note(i int, is identity.Integrity, across bool) {
	if u.integrity[i] = is; is >= identity.WrongChecksum && !across {
		u.all = set(u.all, i, u.words, &u.some)
	}
}

// add adds packets from number from on whose bits are set.
func (u *unfit) add(group []uint64, from int) {
	for w, word := range group {
		for ; word != 0; word &= word - 1 {
			u.all = set(u.all, from+64*w+bits.TrailingZeros64(word), u.words, &u.some)
		}
	}
}

// is reports whether packet i is unfit.
func (u *unfit) is(i int) bool { return u.some && isSet(u.all, i) }

// unfitMask is the difference between the digests of an unfit packet and of an equal fit one. All
// its bytes differ from 0, so no filter takes part of one for that of the other.
var unfitMask = digest.Digest{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9}

// turn gives unfit packets the digests that filters compare, and another call takes these back.
func (u *unfit) turn(digests []digest.Digest) {
	if !u.some {
		return
	}
	for w, word := range u.all {
		for ; word != 0; word &= word - 1 {
			d := &digests[w*64+bits.TrailingZeros64(word)]
			d[0], d[1] = d[0]^unfitMask[0], d[1]^unfitMask[1]
		}
	}
}
