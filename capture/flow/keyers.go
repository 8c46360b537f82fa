package flow

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
)

// Keyers makes keys of several kinds from the same frames, which are looked through
// once. It keeps its buffers from call to call, so it serves one goroutine.
type Keyers struct {
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

// NewKeyers returns a Keyers, and a Decoder for its Read with the given configuration.
// It panics if Validate of a configuration of keys returns an error.
func NewKeyers(cfgs []KeyConfig, decode Config) *Keyers {
	k := &Keyers{keys: make([]*Keys, len(cfgs)), decoder: *NewDecoder(decode)}
	for _, cfg := range cfgs {
		one := NewKeyer(cfg)
		k.all = append(k.all, one)
		k.macs = k.macs || cfg.Of == MACs
		k.headers = k.headers || cfg.Of != MACs
		k.tails = k.tails || one.tail != 0
	}
	var ports [256]bool
	for number, mask := range portMask {
		ports[number] = mask != 0
	}
	k.tuples = headers.NewTuples(k.decoder.rare(), &ports)
	return k
}

// Gather makes the keys of the frames from to from+len(h)-1 of b, which h describes:
// element i of what it returns has those of configuration i. They are valid until the
// next call.
func (k *Keyers) Gather(b *capture.Batch, from int, h []Header) []*Keys {
	if k.headers {
		k.reset(len(h))
		k.split(b.Frames[from:from+len(h)], h, 0, k.tails)
	}
	return k.gather(b, from, h)
}

func (k *Keyers) gather(b *capture.Batch, from int, h []Header) []*Keys {
	for i, one := range k.all {
		k.keys[i] = one.gather(&k.families, b, from, h)
	}
	return k.keys
}

// Read decodes the frames from to from+n-1 of b, and makes their keys as Gather does. It
// is faster, since most datagrams need no Header.
func (k *Keyers) Read(b *capture.Batch, from, n int) []*Keys {
	if k.macs {
		return k.Gather(b, from, k.decode(b, from, n))
	}
	k.reset(n)
	frames := b.Frames[from : from+n]
	k.msgs = room(k.msgs, n)
	placeFrames(k.msgs, frames)
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
func (k *Keyers) decode(b *capture.Batch, from, n int) []Header {
	k.read = room(k.read, n)
	k.decoder.Decode(k.read, b, from)
	return k.read
}
