// SPDX-License-Identifier: Apache-2.0

package count

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// join gives later fragments the flow of their first one, in the order of the stream: a datagram
// is of one flow, however it was cut.
func (p *Packets) join() {
	for i := range p.fragments {
		if f := &p.fragments[i]; p.counter.joiner.Join(f) {
			p.rekey(f)
		}
	}
}

// rekey replaces the elements of a fragment in keys with ports.
func (p *Packets) rekey(f *keys.Fragment) {
	direct := p.batch.Direct()
	if p.joined == nil {
		p.joined = p.counter.cfg.keyers(direct)
	}
	four, six := []uint32{0}, []uint32(nil)
	if f.Is6 {
		four, six = six, four
	}
	made := p.joined.FromKeys([][16]byte{f.V4}, [][48]byte{f.V6}, four, six)
	for i, key := range direct {
		if kind := p.counter.cfg.Keys[key].Kind; kind != keys.Flow && kind != keys.Biflow {
			continue
		}
		e, d := p.batch.Elements(key), &p.counter.digest
		var listed elements
		if p.keys != nil {
			listed = p.keys[key]
		}
		kept4, kept6 := p.direct.Kept(i)
		if f.Is6 {
			replace(&e.V6, f.Frame, made[i].V6, d.v6.Sum48, kept6, listed.v6)
		} else {
			replace(&e.V4, f.Frame, made[i].V4, d.v4.Sum16, kept4, listed.v4)
		}
	}
}

// replace replaces the element of a packet, and its key where keys are kept.
func replace[K any](s *windows.Series[digest.Digest], packet uint32, key []K, sum func([]digest.Digest, []K), kept ...[]K) {
	n, element := s.Of(packet)
	sum(element, key)
	for _, keys := range kept {
		if n < len(keys) {
			keys[n] = key[0]
		}
	}
}
