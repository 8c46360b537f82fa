package flow

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// MultiKeyer makes keys of several kinds from the same frames, which are looked through
// once. It keeps its buffers from call to call, so it serves one goroutine.
type MultiKeyer struct {
	all                  []*Keyer
	macs, headers, tails bool // some keys are of hardware addresses, of IP headers, have a tail
	families
	keys []*Keys

	// What Read needs.
	decoder Decoder
	tuples  *headers.Tuples
	msgs    []digest.Message
	read    []Header
}

// NewMultiKeyer returns a Keyers, and a Decoder for its Read with the given configuration.
// It panics if Validate of a configuration of keys returns an error.
func NewMultiKeyer(cfgs []KeyConfig, decode DecoderConfig) *MultiKeyer {
	k := &MultiKeyer{keys: make([]*Keys, len(cfgs)), decoder: *NewDecoder(decode)}
	for _, cfg := range cfgs {
		one := NewKeyer(cfg)
		k.all = append(k.all, one)
		k.macs = k.macs || cfg.Kind == MACs
		k.headers = k.headers || cfg.Kind != MACs
		k.tails = k.tails || one.tail != 0
	}
	var ports [256]bool
	for number, mask := range portMask {
		ports[number] = mask != 0
	}
	k.tuples = headers.NewTuples(k.decoder.slowProtocols(), &ports)
	return k
}

// FromHeaders makes the keys of the frames from to from+len(h)-1 of b, which h describes:
// element i of what it returns has those of configuration i. They are valid until the
// next call.
func (k *MultiKeyer) FromHeaders(b *capture.Batch, from int, h []Header) []*Keys {
	if k.headers {
		k.reset(len(h))
		k.split(b.Frames[from:from+len(h)], h, 0, k.tails)
	}
	return k.gather(b, from, h)
}

func (k *MultiKeyer) gather(b *capture.Batch, from int, h []Header) []*Keys {
	for i, one := range k.all {
		k.keys[i] = one.gather(&k.families, b, from, h)
	}
	return k.keys
}

// FromFrames decodes the frames from to from+n-1 of b, and makes their keys as Gather does. It
// is faster, since most datagrams need no Header.
func (k *MultiKeyer) FromFrames(b *capture.Batch, from, n int) []*Keys {
	if k.macs {
		return k.FromHeaders(b, from, k.decode(b, from, n))
	}
	k.reset(n)
	frames := b.Frames[from : from+n]
	k.msgs = resize(k.msgs, n)
	zeroCopyFrames(k.msgs, frames)
	for at := 0; at < n; {
		ethernet := at + ethernetFrames(frames[at:], b.Interfaces)
		done, can := k.tuples.List(&k.four, &k.six, k.msgs[at:ethernet], uint32(at), b.Buf)
		at += done
		rest := n - at
		if can {
			rest = min(rest, tupleGroup)
		}
		k.split(frames[at:at+rest], k.decode(b, from+at, rest), at, k.tails)
		at += rest
	}
	return k.gather(b, from, nil)
}

// tupleGroup is how many frames are decoded where there is something rare about one of
// them.
const tupleGroup = 8

// decode returns the headers of n frames, which are valid until the next call.
func (k *MultiKeyer) decode(b *capture.Batch, from, n int) []Header {
	k.read = resize(k.read, n)
	k.decoder.Decode(k.read, b, from)
	return k.read
}
