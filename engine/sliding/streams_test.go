// SPDX-License-Identifier: Apache-2.0

package sliding

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/internal/check"
)

func mustSliding(t testing.TB, cfg Config) *Rows { return check.New(t, New, cfg) }

// steady returns times that are a gap apart.
func steady(n int, gap time.Duration) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = slidingBegin + int64(i)*int64(gap)
	}
	return times
}

const slidingBegin = 1_700_000_000_000_000_000

// lastSightings is the reference: a map of last sightings.
type lastSightings map[digest.Digest]int64

func (l lastSightings) add(d []digest.Digest, times []int64) {
	for i := range d {
		if last, ok := l[d[i]]; !ok || times[i] > last {
			l[d[i]] = times[i]
		}
	}
}

func (l lastSightings) within(from, to int64) (n uint64) {
	for _, t := range l {
		if t >= from && t <= to {
			n++
		}
	}
	return n
}

// slidingStream is a stream of n elements with times as in a network.
type slidingStream struct {
	digests []digest.Digest
	times   []int64
}

// slidingStreams returns streams that last some ten windows.
func slidingStreams(seed uint64, n int, window time.Duration) map[string]*slidingStream {
	rng := rand.New(rand.NewPCG(seed, 7))
	zipf := rand.NewZipf(rng, 1.1, 4, 1<<20)
	element := func(id uint64) digest.Digest { return digest.Digest{(id + 1) * 0x9e3779b97f4a7c15, id} }
	make := func(id func(i int) uint64, next func(i int) int64) *slidingStream {
		s := &slidingStream{}
		now := int64(slidingBegin)
		for i := range n {
			now += next(i)
			s.digests, s.times = append(s.digests, element(id(i))), append(s.times, now)
		}
		return s
	}
	gap := 20 * int64(window) / int64(n)
	even := func(int) int64 { return rng.Int64N(gap) }
	return map[string]*slidingStream{
		"churn":      make(func(i int) uint64 { return uint64(i)/3 + rng.Uint64N(200) }, even),
		"all new":    make(func(i int) uint64 { return uint64(i) }, even),
		"zipf":       make(func(int) uint64 { return zipf.Uint64() }, even),
		"few":        make(func(int) uint64 { return rng.Uint64N(50) }, even),
		"idle gaps":  make(func(int) uint64 { return zipf.Uint64() }, func(i int) int64 { return even(i) + b64(rng.IntN(n/20) == 0)*int64(window)*3/2 }),
		"far apart":  make(func(int) uint64 { return rng.Uint64N(9) }, func(int) int64 { return rng.Int64N(3 * int64(window)) }),
		"bursts":     make(func(i int) uint64 { return uint64(i)/7 + rng.Uint64N(5) }, func(i int) int64 { return b64(i%500 == 0) * 500 * gap / 2 }),
		"disordered": make(func(int) uint64 { return zipf.Uint64() }, func(i int) int64 { return even(i) + int64(1-2*(i%2))*int64(window)/7 }),
	}
}

func b64(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
