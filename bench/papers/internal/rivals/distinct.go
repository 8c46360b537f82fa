package rivals

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/paper"
	enginestream "github.com/flowdedup/flowdedup/engine/stream"
)

// counted is the result of counting the distinct addresses of a stream.
type counted struct {
	memory   int // bytes
	distinct uint64
	errors   stream.Score
}

// counting is a way to count distinct addresses. It takes at most the given memory,
// unless the method chooses its own.
type counting struct {
	name string
	run  func(ctx context.Context, s addresses, memory int) (counted, error)
}

// addresses are a stream of IPv4 addresses: distinct ones, each of which comes four
// times on average, in random order.
type addresses struct {
	distinct int
	of       func(id uint32) uint32
}

// scattered numbers addresses over the whole space, by an odd multiplication.
func scattered(id uint32) uint32 { return id * 0x9e3779b1 }

// clustered fills networks of 256 with 200 addresses each.
func clustered(id uint32) uint32 { return id/200*0x9e3779b1<<8 | id%200 }

const sightings = 4

// batches calls each with up to 512 addresses at a time, and whether they came before.
func (s addresses) batches(ctx context.Context, each func(addrs []uint32, known []bool)) error {
	const step = 512
	source := stream.NewShuffled(sightings*s.distinct, s.distinct, 6)
	truth := stream.NewKnown(s.distinct)
	addrs, known := make([]uint32, 0, step), make([]bool, 0, step)
	for {
		id, ok := source.Next()
		if ok {
			addrs, known = append(addrs, s.of(uint32(id))), append(known, truth.Add(id))
		}
		if !ok || len(addrs) == step {
			each(addrs, known)
			addrs, known = addrs[:0], known[:0]
			if err := ctx.Err(); err != nil || !ok {
				return err
			}
		}
	}
}

// digests turns addresses to digests.
func digests(addrs []uint32) []digest.Digest {
	d := make([]digest.Digest, len(addrs))
	for i, addr := range addrs {
		d[i] = stream.Digest(uint64(addr))
	}
	return d
}

// byCounter makes a method of the engine's counters; keys turns addresses to theirs.
func byCounter[K any](name string, open func() (engine.Counter[K], error), keys func([]uint32) []K) counting {
	return counting{name, func(ctx context.Context, s addresses, _ int) (counted, error) {
		c, err := open()
		if err != nil {
			return counted{}, err
		}
		defer c.Close()
		var result counted
		seen := make([]uint64, 8)
		err = s.batches(ctx, func(addrs []uint32, known []bool) {
			c.TestAndSet(seen, keys(addrs))
			for i := range addrs {
				result.errors.Add(known[i], seen[i/64]>>(i%64)&1 != 0)
			}
		})
		counts := c.Counts()
		result.memory, result.distinct = counts.MemoryBytes, counts.Distinct
		return result, err
	}}
}

// byFilter makes a method that counts what a filter reports as new.
func byFilter[F paper.Filter](name string, open func(bits, distinct int) (F, error)) counting {
	return counting{name, func(ctx context.Context, s addresses, memory int) (counted, error) {
		f, err := open(8*memory, s.distinct)
		if err != nil {
			return counted{}, err
		}
		defer closeFilter(f)
		var result counted
		err = s.batches(ctx, func(addrs []uint32, known []bool) {
			for i, d := range digests(addrs) {
				seen := f.TestAndSet(d)
				result.errors.Add(known[i], seen)
				if !seen {
					result.distinct++
				}
			}
		})
		result.memory = f.Bits() / 8
		return result, err
	}}
}

func exactRows() counting {
	return byCounter("exact rows", func() (engine.Counter[uint32], error) {
		return distinct.NewIPv4Rows([16]byte{1}, 0)
	}, func(addrs []uint32) []uint32 { return addrs })
}

func distinctMethods() []counting {
	all := []counting{
		exactRows(),
		byCounter("roaring bitmap", func() (engine.Counter[uint32], error) { return distinct.NewRoaringIPv4(), nil },
			func(addrs []uint32) []uint32 { return addrs }),
		byCounter("map of digests", func() (engine.Counter[digest.Digest], error) { return distinct.NewDigestMap(), nil }, digests),
	}
	for _, fpr := range []float64{1e-2, 1e-4, 1e-6, 1e-9} {
		all = append(all, byCounter(fmt.Sprintf("growing blocked Bloom, %g", fpr), func() (engine.Counter[digest.Digest], error) {
			return distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: fpr})
		}, digests))
	}
	return append(all,
		byFilter("Bloom, best K", paper.NewOptimalBloom),
		byFilter("LRU rows 4x16", engineRowsOf("4x16")),
		byFilter("LRU rows 32x16", engineRowsOf("32x16")),
		byFilter("QHT 4x16", func(bits, _ int) (*paper.QHT, error) {
			return paper.NewQHT(paper.QHTConfig{Bits: bits, CellBits: 16, Cells: 4, Seed: 1})
		}),
		byFilter("RLBSBF k2", func(bits, _ int) (*paper.Biased, error) {
			return paper.NewRLBSBF(paper.BiasedConfig{Bits: bits, K: 2, Seed: 1})
		}),
		byFilter("SBF d1 K2 P4", func(bits, _ int) (*paper.Stable, error) {
			return paper.NewStable(paper.StableConfig{Cells: bits, CellBits: 1, K: 2, P: 4, Seed: 1})
		}),
	)
}

func engineRowsOf(shape string) func(bits, _ int) (*stream.Engine, error) {
	return func(bits, _ int) (*stream.Engine, error) {
		return stream.NewEngine(enginestream.Config{Method: "lru", Shape: shape, Memory: bits / 8})
	}
}

func distinctTable(ctx context.Context, name string, o result.Options) (result.Table, error) {
	n := 300_000
	if o.Full {
		n = 4_000_000
	}
	streams := []struct {
		name string
		addresses
	}{{"scattered", addresses{n, scattered}}, {"in networks", addresses{n, clustered}}}
	methods := distinctMethods()
	// Filters that have no size of their own get that of the exact rows.
	reference, err := exactRows().run(ctx, streams[0].addresses, 0)
	if err != nil {
		return result.Table{}, err
	}
	rows := make([]result.Row, len(streams)*len(methods))
	err = result.Parallel(ctx, len(rows), o.Workers, func(task int) error {
		s, m := streams[task/len(methods)], methods[task%len(methods)]
		c, err := m.run(ctx, s.addresses, reference.memory)
		rows[task] = c.row(m.name+", "+s.name, n)
		return err
	})
	return result.Table{
		Name:  name,
		Title: "Counting distinct IPv4 addresses since a landmark",
		Setting: fmt.Sprintf("%d different addresses, %d sightings of each on average, scattered over all of IPv4 or 200 in each of %d networks of 256. "+
			"Methods without a size of their own get the memory of the exact rows.", n, sightings, n/200),
		Corner:  "method, addresses",
		Columns: []string{"memory, MiB", "bits for each", "count off by", "FPR", "FNR"},
		Rows:    rows,
		Notes: []string{
			"Exact rows, roaring bitmap and map are exact by construction. The growing Bloom filter corrects its count for the false positives that it expects.",
			"A roaring bitmap's memory is what its containers hold. What Go adds for each of them, up to 65,536 where addresses are scattered, is not in it, nor is the search for the container, " +
				"while exact rows touch one line for an address. By the memory given here the bitmap is the smallest exact method for both kinds of addresses.",
			"A Bloom filter of the same memory as the exact rows makes no error here, but its size has to be known before.",
		},
	}, err
}

func (c counted) row(name string, n int) result.Row {
	off := math.Abs(float64(c.distinct)-float64(n)) / float64(n)
	return result.Row{Name: name, Cells: []result.Cell{
		result.Measured(float64(c.memory)/(1<<20), ""),
		result.Measured(8*float64(c.memory)/float64(n), ""),
		result.Measured(100*off, "%"),
		result.Measured(100*c.errors.FPR(), "%"),
		result.Measured(100*c.errors.FNR(), "%"),
	}}
}
