// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
)

// unfit are the packets of a batch that cannot stand for an equal fit packet: no receiver takes them,
// the reader of the output may not open their headers (Config.Reader), or their checksum is wrong or
// cannot be verified, since they were truncated (Config.Checksums). Otherwise a sender could send each
// packet in such a form first, and the right packet would be taken for its copy. Unfit packets have
// digests of their own, so the filter compares them with each other only.
type unfit struct {
	some      bool                 // all has a bit
	all       []uint64             // a bit for each
	integrity []identity.Integrity // of all packets; empty without Config.Checksums
	headers   []headers.Header
}

// reset begins a batch of n packets.
func (u *unfit) reset(n int, intact bool) {
	u.some, u.all, u.integrity = false, capture.Zeroed(u.all, (n+63)/64), u.integrity[:0]
	if intact {
		u.integrity = capture.Resize(u.integrity, n)
	}
}

// readUnfit finds the unfit packets from from to to-1.
func (p *BatchDetector) readUnfit(b *capture.Batch, from, to int) {
	u, d := &p.unfit, &p.detector.cfg
	for w, word := range p.messages.Broken() {
		for ; word != 0; word &= word - 1 {
			u.set(from + 64*w + bits.TrailingZeros64(word))
		}
	}
	if !d.Checksums && d.Reader == nil {
		return
	}
	u.headers = capture.Resize(u.headers, to-from)
	p.decoder.Decode(u.headers, b, from)
	for i := range u.headers {
		h, i := &u.headers[i], from+i
		if d.Checksums {
			u.note(i, identity.IntegrityOf(h, b, i), d.Across)
		}
		if d.Reader != nil && !d.Reader.Has(h, b.Interfaces[b.Frames[i].Interface].LinkType, b.Data(i)) {
			u.set(i)
		}
	}
}

// set makes packet i unfit.
func (u *unfit) set(i int) {
	capture.SetBit(u.all, i)
	u.some = true
}

// note notes the integrity of packet i.
func (u *unfit) note(i int, is identity.Integrity, across bool) {
	if u.integrity[i] = is; is >= identity.WrongChecksum && !across {
		u.set(i)
	}
}

// is reports whether packet i is unfit.
func (u *unfit) is(i int) bool { return u.some && capture.IsSet(u.all, i) }

// found returns a bit for each unfit packet, nil if there is none.
func (u *unfit) found() []uint64 {
	if !u.some {
		return nil
	}
	return u.all
}

// unfitMask is the difference between the digests of an unfit packet and of an equal fit packet. No
// byte of it is 0, so the two differ in each part that a filter keeps.
var unfitMask = digest.Digest{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9}

// turn gives unfit packets the digests that filters compare, and the next call takes these back.
func (u *unfit) turn(digests []digest.Digest) {
	for w, word := range u.all {
		for ; word != 0; word &= word - 1 {
			d := &digests[w*64+bits.TrailingZeros64(word)]
			d[0], d[1] = d[0]^unfitMask[0], d[1]^unfitMask[1]
		}
	}
}
