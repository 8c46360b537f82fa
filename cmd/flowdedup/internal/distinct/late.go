package distinct

import (
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
)

// lateKeys are keys that another one settles: they are made of the packets that it does
// not, once that is known.
type lateKeys struct {
	by      int
	keys    []int
	keyers  *flow.Keyers
	packets capture.Batch // of which they are made
}

func newLateKeys(by int, keys []int, cfg *Config) lateKeys {
	return lateKeys{by: by, keys: keys, keyers: newKeyers(cfg, keys)}
}

// newKeyers makes what makes some of the keys.
func newKeyers(cfg *Config, keys []int) *flow.Keyers {
	configs := make([]flow.KeyConfig, len(keys))
	for i, key := range keys {
		configs[i] = cfg.Keys[key]
	}
	return flow.NewKeyers(configs, flow.Config{Inner: cfg.Inner})
}

// read makes the keys of the given packets of b.
func (l *lateKeys) read(p *Packets, b *capture.Batch, packets []uint32) {
	frames := slices.Grow(l.packets.Frames[:0], len(packets))[:len(packets)]
	for i, packet := range packets {
		frames[i] = b.Frames[packet]
	}
	l.packets = capture.Batch{Buf: b.Buf, Frames: frames, Interfaces: b.Interfaces, Sections: b.Sections}
	for from := 0; from < len(frames); from += step {
		made := l.keyers.Read(&l.packets, from, min(step, len(frames)-from))
		for i, key := range l.keys {
			p.keys[key].add(made[i], from, &p.run.digest, false)
		}
	}
	for _, key := range l.keys {
		p.keys[key].renumber(packets)
	}
}
