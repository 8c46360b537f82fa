package window

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/check"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkPauseTimed is BenchmarkPause for a filter of packets that grows from 512 KiB until it
// holds 8 million elements of a window.
func BenchmarkPauseTimed(b *testing.B) {
	check.MeasurePause(b, func() engine.Counter[digest.Digest] {
		cfg := TimedConfig{Window: Window{Duration: time.Hour}, Memory: 512 << 10, Limit: 1 << 30}
		return &timedCounter{filter: newTimed(b, cfg), times: make([]int64, check.PauseBatch)}
	}, func(rng *rand.PCG) digest.Digest { return digest.Digest{rng.Uint64(), rng.Uint64()} })
}

// timedCounter has a packet every 100 µs.
type timedCounter struct {
	filter *Timed
	times  []int64
	now    int64
}

func (c *timedCounter) TestAndSet(seen []uint64, d []digest.Digest) {
	for i := range d {
		c.now += 100_000
		c.times[i] = c.now
	}
	c.filter.TestAndSet(seen, d, c.times, nil)
}

func (c *timedCounter) Counts() engine.Counts { return engine.Counts{} }
func (c *timedCounter) Close() error          { return c.filter.Close() }
