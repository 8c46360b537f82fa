// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// SightingConfig says how a SightingReader describes packets.
type SightingConfig struct {
	// Inner opens tunnels. The innermost IP header then defines the conversation, and the
	// tunnels on the way there belong to the point.
	Inner bool
	// Tunnels are the UDP ports of tunnels; nil stands for the usual ports.
	Tunnels *headers.Tunnels
	Fields  PointFields
	Groups  Groups // of identifiers of Fields
	// Apart makes conversations of equal ends different where their points differ in it, such as
	// conversations of two tenants.
	Apart Points
	// Seed keys all hashes. Whoever does not know it cannot choose packets whose hashes
	// collide. Equal seeds give equal hashes.
	Seed uint64
}

// Sightings describe a run of frames. Element i belongs to frame i of the run.
type Sightings struct {
	// Conversation is a hash of the common data of both directions of a conversation: IP version,
	// both ends, each an address and a port, and the protocol. Without ports the ends are
	// addresses. Of a fragment after the first it is a hash of its datagram: of both addresses, the
	// identification and, in IPv4, the protocol (RFC 791, section 3.2; RFC 8200, section 4.5). It
	// is 0 without an IP header.
	Conversation []uint64
	// Fragment is, of a first fragment, the Conversation of the fragments after it. Of
	// all other frames it is 0.
	Fragment []uint64
	// Point is a hash of the configured fields. Without any it is the same for all
	// frames.
	Point []uint64
}

// Run returns the frames from to to-1 of a run.
func (s *Sightings) Run(from, to int) Sightings {
	return Sightings{Conversation: s.Conversation[from:to], Fragment: s.Fragment[from:to], Point: s.Point[from:to]}
}

// Set copies the results of a run of the same length to s.
func (s Sightings) Set(to *Sightings) {
	copy(s.Conversation, to.Conversation)
	copy(s.Fragment, to.Fragment)
	copy(s.Point, to.Point)
}

// SightingReader returns the conversation of a packet, and the point that saw it. It keeps its
// buffers from call to call, so one goroutine at a time may use it.
type SightingReader struct {
	cfg     SightingConfig
	keys    sightingKeys
	decoder headers.Decoder
	headers []headers.Header
	layers  []headers.Layer    // of one frame
	skipped headers.LayerKinds // that no field is of
	apart   *SightingReader    // of the points that Apart distinguishes, or nil
	// tunnel is the last tunnel of VXLAN or GENEVE over IPv4, and its point.
	tunnel struct {
		key  tunnelKey
		hash uint64
	}
	seen Sightings
}

// NewSightingReader returns a reader.
func NewSightingReader(cfg SightingConfig) *SightingReader {
	decode := headers.DecoderConfig{Inner: cfg.Inner, Tunnels: cfg.Tunnels}
	r := &SightingReader{cfg: cfg, keys: newSightingKeys(cfg.Seed), decoder: *headers.NewDecoder(decode)}
	for kind, field := range layerFields {
		if field&cfg.Fields == 0 {
			r.skipped |= 1 << kind
		}
	}
	if cfg.Apart.Fields != 0 {
		r.apart = NewSightingReader(SightingConfig{Inner: cfg.Inner, Tunnels: cfg.Tunnels, Fields: cfg.Apart.Fields, Groups: cfg.Apart.Groups, Seed: cfg.Seed})
	}
	return r
}

// Read describes the frames from to from+n-1 of b. The result does not depend on how the
// stream is cut into runs. It is valid until the next call of a method. read takes time
// linear in the lengths of the headers, and allocates only when a run is longer than all
// before. It panics if b has fewer frames.
func (r *SightingReader) Read(b *capture.Batch, from, n int) *Sightings {
	s := &r.seen
	s.Conversation, s.Fragment = capture.Resize(s.Conversation, n), capture.Resize(s.Fragment, n)
	h := r.decode(b, from, n)
	for i := range h {
		s.Conversation[i], s.Fragment[i] = r.keys.header(&h[i], b, from+i)
	}
	r.points(b, from, n, h)
	r.separate(s, b, from)
	return s
}

// separate makes different conversations of equal ends that Apart distinguishes. 0 stays 0.
func (r *SightingReader) separate(s *Sightings, b *capture.Batch, from int) {
	if r.apart == nil {
		return
	}
	points := r.apart.Points(b, from, len(s.Conversation))
	for _, hashes := range [...][]uint64{s.Conversation, s.Fragment} {
		for i, hash := range hashes {
			if hash != 0 {
				hashes[i] = max(r.keys.then(hash, points[i]), 1)
			}
		}
	}
}

// Points returns the same Sightings.Point as Read, in less time. It reads the headers of frames only
// if their fields count.
func (r *SightingReader) Points(b *capture.Batch, from, n int) []uint64 {
	var h []headers.Header
	if r.cfg.Fields&headerFields != 0 {
		h = r.decode(b, from, n)
	}
	r.points(b, from, n, h)
	return r.seen.Point
}

func (r *SightingReader) decode(b *capture.Batch, from, n int) []headers.Header {
	r.headers = capture.Resize(r.headers, n)
	r.decoder.Decode(r.headers, b, from)
	return r.headers
}
