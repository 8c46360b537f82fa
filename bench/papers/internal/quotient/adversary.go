// SPDX-License-Identifier: Apache-2.0

package quotient

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	engine "github.com/flowdedup/flowdedup/engine/stream"
)

// The adversary of section 7 sees each verdict and chooses the next element by it, but
// does not see the filter's memory.

const (
	forgetMemory = 1 << 15
	forgetSteps  = 16 * forgetMemory
)

// forgettable are filters that an adversary floods.
func forgettable() []column {
	quotient := func(cells, bits int, create func(paper.QHTConfig) (*paper.QHT, error)) func(given) paper.Filter {
		return func(g given) paper.Filter {
			return result.Must(create(paper.QHTConfig{Bits: g.memory, CellBits: bits, Cells: cells, Seed: g.seed}))
		}
	}
	return []column{
		{name: "QHT 1x3", make: quotient(1, 3, paper.NewQHT)},
		{name: "QQHTD 4x8", make: quotient(4, 8, paper.NewQQHTD)},
		{name: "Cuckoo 1x3", make: func(g given) paper.Filter { return newCuckoo(g, g.memory) }},
		{name: "SBF, 2 %", make: newStable},
		{name: "A2, 10 %", make: func(g given) paper.Filter { return result.Must(paper.NewA2ForRate(g.memory, a2Target)) }},
		{name: "b_DBF, W = M/16", make: func(g given) paper.Filter { return newDelayed(g.memory, g.memory/16, false) }},
		{name: "Bloom, K = 2", make: func(g given) paper.Filter { return result.Must(paper.NewBloom(g.memory, 2)) }},
		{name: "engine: lru 4x16", make: func(g given) paper.Filter { return newRows("4x16", g.memory) }},
	}
}

// newRows returns the engine's rows of a shape.
func newRows(shape string, memory int) paper.Filter {
	return result.Must(stream.NewEngine(engine.Config{Method: "lru", Shape: shape, Memory: memory / 8}))
}

// forgetting is Theorem 7.1: after h M random elements an element is forgotten.
func forgetting(o result.Options, t *result.Table) {
	t.Say(forgetMemory, forgetSteps)
	var gaps []int
	var x, theorem []float64
	for i := -8; i <= 1; i++ {
		h := math.Exp2(float64(i))
		gaps, x, theorem = append(gaps, int(h*forgetMemory)), append(x, h), append(theorem, 100*-math.Expm1(-h))
	}
	result.AddRows(t, x...)
	t.Add("", "%", theorem...)
	filters := forgettable()
	rates := result.Map(o, filters, func(c column) []float64 {
		return flood(c.make(given{memory: forgetMemory, seed: 1, kicks: gridKicks}), gaps)
	})
	for i, f := range filters {
		t.Add(f.name, "%", rates[i]...)
	}
	t.Draw(0, t.Lines(x, func(column int) bool { return column == 0 })...)
}

// flood sends new elements and, once each, copies of those sent a gap before. It returns
// the share of copies missed for each gap, and of new elements reported, in percent, when
// the filter has taken a quarter of all.
func flood(f paper.Filter, gaps []int) []float64 {
	defer stream.Close(f)
	random := rand.New(rand.NewPCG(1, 7))
	sent := make([]uint64, forgetSteps) // 0 for copies, and for copied elements
	scores := make([]stream.Score, len(gaps))
	var fresh stream.Score
	for i := range sent {
		gap := random.IntN(len(gaps))
		before := i - gaps[gap]
		if i >= forgetSteps/4 && random.Uint64()&1 == 0 && sent[before] != 0 {
			scores[gap].Add(true, f.TestAndSet(stream.Digest(sent[before])))
			sent[before] = 0
			continue
		}
		sent[i] = uint64(i) + 1
		if seen := f.TestAndSet(stream.Digest(sent[i])); i >= forgetSteps/4 {
			fresh.Add(false, seen)
		}
	}
	var rates []float64
	for _, score := range scores {
		rates = append(rates, 100*score.FNR())
	}
	return append(rates, 100*fresh.FPR())
}

const (
	attackMemory     = 1 << 16
	attackCandidates = 1 << 22 // elements that the adversary hashes
	attackTargets    = 512
	attackTries      = 8 // of the adaptive adversary, at each target
	publicKey        = 1
	secretKey        = 2
)

// keyed hashes elements as flowdedup does.
type keyed struct{ aes *digest.AES }

func newKeyed(key byte) keyed { return keyed{digest.NewAES([16]byte{key})} }

func (k keyed) of(element uint64) digest.Digest {
	var keys [1][16]byte
	var sums [1]digest.Digest
	binary.LittleEndian.PutUint64(keys[0][:], element)
	k.aes.Sum16(sums[:], keys[:])
	return sums[0]
}

// victim is a filter under attack, with the adversary's knowledge of it: cell maps a
// digest to the value by which the filter distinguishes elements.
type victim struct {
	name string
	make func() paper.Filter
	cell func(d digest.Digest) [2]uint64
}

func victims() []victim {
	var all []victim
	for _, s := range []shape{{1, 3}, {2, 4}} {
		create := func() *paper.QHT {
			return result.Must(paper.NewQHT(paper.QHTConfig{Bits: attackMemory, CellBits: s.bits, Cells: s.cells, Seed: 1}))
		}
		q := create()
		all = append(all, victim{fmt.Sprintf("QHT %dx%d", s.cells, s.bits), func() paper.Filter { return create() },
			func(d digest.Digest) [2]uint64 { row, fingerprint := q.Cell(d); return [2]uint64{row, fingerprint} }})
	}
	rows := victim{name: "engine: lru 8x8", make: func() paper.Filter { return newRows("8x8", attackMemory) }}
	used := rows.usedBits()
	rows.cell = func(d digest.Digest) [2]uint64 { return [2]uint64{d[0] & used[0], d[1] & used[1]} }
	return append(all, rows)
}

// usedBits returns the bits of a digest that a filter looks at. An adversary finds them by
// a filter of their own: without such a bit the filter takes the element for another one.
func (v victim) usedBits() (used digest.Digest) {
	d := digest.Digest{0x0123456789abcdef, 0xfedcba9876543210}
	for i := range 128 {
		other := d
		other[i/64] ^= 1 << (i % 64)
		if !v.same(d, other) {
			used[i/64] |= 1 << (i % 64)
		}
	}
	return used
}

// collisions returns groups of elements that a filter with the public hash cannot
// distinguish.
func (v victim) collisions(public keyed) [][]uint64 {
	groups := map[[2]uint64]int{}
	all := make([][]uint64, 0, attackTargets)
	for element := range uint64(attackCandidates) {
		cell := v.cell(public.of(element))
		at, ok := groups[cell]
		if !ok {
			if len(all) == attackTargets {
				continue
			}
			at = len(all)
			groups[cell], all = at, append(all, nil)
		}
		if len(all[at]) <= 2*attackTries {
			all[at] = append(all[at], element)
		}
	}
	for i, group := range all {
		first := public.of(group[0])
		all[i] = slices.DeleteFunc(group, func(element uint64) bool {
			return element != group[0] && !v.same(first, public.of(element))
		})
	}
	return slices.DeleteFunc(all, func(group []uint64) bool { return len(group) <= attackTries })
}

// same tries whether an own filter takes one element for another.
func (v victim) same(a, b digest.Digest) bool {
	f := v.make()
	defer stream.Close(f)
	f.TestAndSet(a)
	return f.TestAndSet(b)
}

// attackGaps are the numbers of others' elements between the adversary's.
var attackGaps = []int{0, 1 << 8, 1 << 12, 1 << 14, 1 << 16}

const adaptiveGap = 1 << 12

// attack is Theorem 7.2: elements made to be false positives, with a hash function that
// the adversary knows and with one under a secret key.
func attack(o result.Options, t *result.Table) {
	t.Say(attackMemory, attackCandidates, attackTargets, attackTries, adaptiveGap)
	var x []float64
	for _, gap := range attackGaps {
		x = append(x, float64(gap+1))
	}
	result.AddRows(t, attackGaps...)
	all := victims()
	for i, rates := range result.Map(o, all, func(v victim) [2][]float64 {
		groups := v.collisions(newKeyed(publicKey))
		return [2][]float64{v.play(groups, newKeyed(publicKey)), v.play(groups, newKeyed(secretKey))}
	}) {
		t.Add(all[i].name+", public", "%", rates[0]...)
		t.Add(all[i].name+", secret", "%", rates[1]...)
	}
	t.Draw(0, t.Lines(x, func(column int) bool { return column%2 == 1 })...)
}

// game is a filter in use, by an adversary and by others.
type game struct {
	filter paper.Filter
	hash   keyed
	next   uint64       // the next element of others
	rate   stream.Score // of others
}

// others sends new elements of others.
func (g *game) others(count int) {
	for range count {
		g.next++
		g.rate.Add(false, g.filter.TestAndSet(g.hash.of(1<<40+g.next)))
	}
}

// start opens a filter and fills it.
func (g *game) start(v victim) {
	g.end()
	g.filter = v.make()
	rate := g.rate
	g.others(2 * attackMemory)
	g.rate = rate
}

func (g *game) end() { stream.Close(g.filter) }

// send sends one element of each group, counts in hits those reported, and returns how many
// they are.
func (g *game) send(groups [][]uint64, element int, hits []int) (reported int) {
	for i, group := range groups {
		if g.filter.TestAndSet(g.hash.of(group[element])) {
			hits[i]++
			reported++
		}
	}
	return reported
}

// play returns the adversary's success for each gap and by adapting, and the rate of
// others, in percent.
func (v victim) play(groups [][]uint64, hash keyed) (rates []float64) {
	g := game{hash: hash}
	defer g.end()
	for _, gap := range attackGaps {
		g.start(v)
		hits := make([]int, len(groups))
		g.send(groups, 0, hits)
		g.others(gap)
		rates = append(rates, 100*float64(g.send(groups, 1, hits))/float64(len(groups)))
	}
	g.start(v)
	hits, order := make([]int, len(groups)), make([]int, len(groups))
	for try := range attackTries {
		g.others(adaptiveGap)
		g.send(groups, try, hits)
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return hits[b] - hits[a] })
	var best [][]uint64
	for _, i := range order[:len(order)/8] {
		best = append(best, groups[i])
	}
	success := g.send(best, attackTries, make([]int, len(best)))
	return append(rates, 100*float64(success)/float64(len(best)), 100*g.rate.FPR())
}
