package distinct

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/engine"
)

// counted is a counter of the distinct elements of one family. It comes to be with
// the first of them.
type counted[E any] struct {
	engine.Counter[E]
	ahead   engine.Counter[E] // is to be it, made ready before
	packets uint64            // that they come from
}

// keyCounters are the counters of one key in one window.
type keyCounters struct {
	addr4       counted[uint32]
	v4, v6, mac counted[asm.Digest]
}

// begin has the counter be there for the first element.
func (c *counted[E]) begin(create func(memory int) (engine.Counter[E], error)) error {
	c.Counter, c.ahead = c.ahead, nil
	if c.Counter != nil {
		return nil
	}
	var err error
	if c.Counter, err = create(0); err != nil {
		return fmt.Errorf("memory for a window: %w", err)
	}
	return nil
}

func (c *counted[E]) close() error {
	var errs []error
	for _, counter := range []engine.Counter[E]{c.Counter, c.ahead} {
		if counter != nil {
			errs = append(errs, counter.Close())
		}
	}
	return errors.Join(errs...)
}

func closeKeys(keys []keyCounters) error {
	var errs []error
	for i := range keys {
		k := &keys[i]
		errs = append(errs, k.addr4.close(), k.v4.close(), k.v6.close(), k.mac.close())
	}
	return errors.Join(errs...)
}

// takePackets takes the numbers of packets over from another key of the same ones.
func (k *keyCounters) takePackets(from *keyCounters) {
	v4 := from.addr4.packets + from.v4.packets // one of them is 0
	k.addr4.packets, k.v4.packets, k.v6.packets = v4, v4, from.v6.packets
}

// memory returns what the counters hold, in bytes.
func (k *keyCounters) memory(cfg flow.KeyConfig) int {
	families := k.families(cfg)
	return families[len(families)-1].counts.MemoryBytes
}

// family is a row without its window.
type family struct {
	name    string
	counts  engine.Counts
	packets uint64
}

// families returns the counts by family; the last one is the sum.
func (k *keyCounters) families(cfg flow.KeyConfig) []family {
	v4 := family{counts: k.v4.counts(), packets: k.v4.packets}
	if k.addr4.Counter != nil {
		v4 = family{counts: k.addr4.counts(), packets: k.addr4.packets}
	}
	return familiesOf(cfg, v4, family{counts: k.v6.counts(), packets: k.v6.packets}, family{counts: k.mac.counts(), packets: k.mac.packets})
}

// familiesOf returns those that a key has, with their names; the last one is the sum.
func familiesOf(cfg flow.KeyConfig, v4, v6, mac family) []family {
	if cfg.Of == flow.MACs {
		mac.name = "all"
		return []family{mac}
	}
	v4.name, v6.name = "ipv4", "ipv6"
	return []family{v4, v6, {"all", sum(v4.counts, v6.counts), v4.packets + v6.packets}}
}

// counts of a family of which nothing was seen are zero, and exact.
func (c *counted[E]) counts() engine.Counts {
	if c.Counter == nil {
		return engine.Counts{Method: methodExact}
	}
	return c.Counts()
}

// sum adds two families up. Adding the bounds keeps at least their confidence;
// of the false positive rates the worse one is told, with its method.
func sum(a, b engine.Counts) engine.Counts {
	s := engine.Counts{
		Distinct: a.Distinct + b.Distinct, Low: a.Low + b.Low, High: a.High + b.High,
		MemoryBytes: a.MemoryBytes + b.MemoryBytes, FPR: max(a.FPR, b.FPR), Method: a.Method,
	}
	if b.FPR > a.FPR || a.Distinct == 0 {
		s.Method = b.Method
	}
	return s
}
