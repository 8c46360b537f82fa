package flow

import "github.com/flowdedup/flowdedup/capture"

// Keyers makes keys of several kinds from the same frames, which are looked through
// once. It keeps its buffers from call to call, so it serves one goroutine.
type Keyers struct {
	all   []*Keyer
	tails bool // some keys have one
	some  bool // some keys are of IP headers
	families
	keys []*Keys
}

// NewKeyers returns a Keyers. It panics if Validate of a configuration returns an
// error.
func NewKeyers(cfgs []KeyConfig) *Keyers {
	k := &Keyers{keys: make([]*Keys, len(cfgs))}
	for _, cfg := range cfgs {
		one := NewKeyer(cfg)
		k.all = append(k.all, one)
		k.some = k.some || cfg.Of != MACs
		k.tails = k.tails || one.tail != 0
	}
	return k
}

// Gather makes the keys of the frames from to from+len(h)-1 of b, which h describes:
// element i of what it returns has those of configuration i. They are valid until the
// next call.
func (k *Keyers) Gather(b *capture.Batch, from int, h []Header) []*Keys {
	if k.some {
		k.families.split(b.Frames[from:from+len(h)], h, k.tails)
	}
	for i, one := range k.all {
		k.keys[i] = one.gather(&k.families, b, from, h)
	}
	return k.keys
}
