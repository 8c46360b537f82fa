// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/fragments"
)

// Fragment is a frame with a fragment of a datagram. Only the first fragment has ports.
type Fragment struct {
	Frame uint32 // counted from the first of the run
	// V4, or V6 if Is6, is its key of kind Flow, with its VLAN.
	V4       [size4]byte
	V6       [size6]byte
	Is6      bool
	datagram fragments.Key
	first    bool
}

// tail returns the part of the key behind its addresses.
func (f *Fragment) tail() []byte {
	if f.Is6 {
		return f.V6[tail6:]
	}
	return f.V4[tail4:]
}

// Fragments returns the fragments among the frames of the last call of FromFrames or FromHeaders,
// in their order. It is empty if no key has ports.
func (k *Keyer) Fragments() []Fragment { return k.fragments }

// noteFragment notes the frame of number n, with packet data d that h describes, if it is a fragment.
func (k *Keyer) noteFragment(n int, d []byte, h *headers.Header) {
	ip := d[h.Start:h.End]
	is, ok := fragments.Parse(ip)
	if !ok {
		return
	}
	f := Fragment{Frame: uint32(n), Is6: h.Version == 6, datagram: is.Key, first: is.Offset == 0}
	if f.Is6 {
		copy(f.V6[:tail6], ip[addresses6At:])
	} else {
		copy(f.V4[:tail4], ip[addresses4At:])
	}
	binary.BigEndian.PutUint64(f.tail(), tailOf(h))
	k.fragments = append(k.fragments, f)
}

// isFragment reports whether a frame is to be noted.
func (k *Keyer) isFragment(h *headers.Header) bool {
	return k.ports && h.Version != 0 && h.Flags&headers.FlagFragment != 0
}

// maxDatagrams is how many datagrams a Joiner remembers.
const maxDatagrams = 4096

// Joiner gives the later fragments of datagrams the ports of their first. It remembers the last
// maxDatagrams first fragments. The zero value is ready for use.
type Joiner struct {
	tails map[fragments.Key][5]byte // ports and protocol
	ring  []fragments.Key           // in the order in which they came
	next  int
}

// Join takes the next fragment of a stream. It reports whether it has changed the key of a later
// fragment to the flow of its first one.
func (j *Joiner) Join(f *Fragment) bool {
	tail, known := j.tails[f.datagram]
	if !f.first {
		if known {
			copy(f.tail(), tail[:])
		}
		return known
	}
	if j.tails == nil {
		j.tails = map[fragments.Key][5]byte{}
	}
	switch {
	case known:
	case len(j.ring) < maxDatagrams:
		j.ring = append(j.ring, f.datagram)
	default:
		delete(j.tails, j.ring[j.next])
		j.ring[j.next] = f.datagram
		j.next = (j.next + 1) % maxDatagrams
	}
	j.tails[f.datagram] = [5]byte(f.tail())
	return false
}

// noteRead notes the frames that h describes, from frame from of b on, the first of which has number
// n in the run: those whose ports were not captured, and fragments.
func (k *Keyer) noteRead(b *capture.Batch, from, n int, h []headers.Header) {
	for i := range h {
		if h[i].L4 == 0 || h[i].L4+4 > h[i].End {
			k.withoutPorts += uint64(portsCut(&h[i], b.Data(from+i)))
		}
		if k.isFragment(&h[i]) {
			k.noteFragment(n+i, b.Data(from+i), &h[i])
		}
	}
}
