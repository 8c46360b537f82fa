package quotient

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/chart"
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
	quotient := func(cells, bits int, create func(paper.QHTConfig) (*paper.QHT, error)) func(given) (paper.Filter, error) {
		return func(g given) (paper.Filter, error) {
			return create(paper.QHTConfig{Bits: g.memory, CellBits: bits, Cells: cells, Seed: g.seed})
		}
	}
	return append([]column{
		{name: "QHT 1x3", make: quotient(1, 3, paper.NewQHT)},
		{name: "QQHTD 4x8", make: quotient(4, 8, paper.NewQQHTD)},
		{name: "Cuckoo 1x3", make: func(g given) (paper.Filter, error) { return newCuckoo(g, g.memory) }},
	}, column{name: "SBF, 2 %", make: newStable},
		column{name: "A2, 10 %", make: func(g given) (paper.Filter, error) { return paper.NewA2ForRate(g.memory, a2Target) }},
		column{name: "b_DBF, W = M/16", make: func(g given) (paper.Filter, error) { return newDelayed(g.memory, g.memory/16, false) }},
		column{name: "Bloom, K = 2", make: func(g given) (paper.Filter, error) { return paper.NewBloom(g.memory, 2) }},
		column{name: "engine: lru 4x16", make: func(g given) (paper.Filter, error) {
			return stream.NewEngine(engine.Config{Method: "lru", Shape: "4x16", Memory: g.memory / 8})
		}},
	)
}

// forgetting is Theorem 7.1: after h M random elements an element is forgotten.
func forgetting(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "An adversary makes filters forget: random elements between an element and its copy",
		Setting: fmt.Sprintf("Theorem 7.1, M = %d bits: the share of copies that are missed after h M elements, %d in all, half of them copies; and what is reported of new elements.",
			forgetMemory, forgetSteps),
		Corner: "h", Columns: []string{"1-e^-h, Theorem 7.1"},
		Notes: []string{
			"The theorem grants a filter an element a bit and takes it to forget at random. None here remembers as many: QHT, with 3 bits an element, forgets by (1-1/S)(1-e^(-3h)), sooner than 1-e^-h. But what forgets the oldest first (queues, A2, b_DBF) misses nothing, or hardly anything, up to its window and all beyond, so that the printed \"at least\" does not hold for small h.",
			"No filter forgets more than 1-FPR of all elements, as it reports what it forgot like any new one. The printed bound, which goes to 1, is for filters without false positives.",
			"\"No filter can resist\" has an exception of no use: a Bloom filter forgets nothing, and reports every new element instead. An adversary turns a flood into false positives there.",
			"The time to forget is proportional to M, and it takes no knowledge of hash functions. More memory is all that helps; p3.attack has what does not take a flood.",
		},
	}
	var gaps []int
	for i := -8; i <= 1; i++ {
		h := math.Exp2(float64(i))
		gaps = append(gaps, int(h*forgetMemory))
		table.Rows = append(table.Rows, result.MeasuredRow(fmt.Sprint(h), "%", 100*-math.Expm1(-h)))
	}
	table.Rows = append(table.Rows, result.Row{Name: "FPR", Cells: []result.Cell{{Blank: true}}})
	filters := forgettable()
	rates := make([][]float64, len(filters))
	err := result.Parallel(ctx, len(filters), o.Workers, func(i int) error {
		f, err := filters[i].make(given{memory: forgetMemory, seed: 1, kicks: gridKicks})
		if err == nil {
			rates[i], err = flood(ctx, f, gaps)
		}
		return err
	})
	if err != nil {
		return table, err
	}
	var x []float64
	for _, gap := range gaps {
		x = append(x, float64(gap)/forgetMemory)
	}
	for i, f := range filters {
		table.Columns = append(table.Columns, f.name)
		for row, rate := range rates[i] {
			table.Rows[row].Cells = append(table.Rows[row].Cells, result.Measured(100*rate, "%"))
		}
	}
	table.Charts = []result.Picture{{File: "p3-forgetting", Chart: chart.Chart{
		Title: "Copies missed after h M random elements", X: "h", Y: "missed, %", LogX: true,
		Lines: table.Lines(x, func(column int) bool { return column == 0 }),
	}}}
	return table, nil
}

// flood sends new elements and, once each, copies of those sent a gap before. It returns
// the share of copies missed for each gap, and of new elements reported, when the filter
// has taken a quarter of all.
func flood(ctx context.Context, f paper.Filter, gaps []int) ([]float64, error) {
	if c, ok := f.(io.Closer); ok {
		defer c.Close()
	}
	random := rand.New(rand.NewPCG(1, 7))
	sent := make([]uint64, forgetSteps) // 0 for copies, and for what was copied
	missed, copies := make([]float64, len(gaps)), make([]float64, len(gaps))
	reported, fresh := 0.0, 0.0
	for i := range sent {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		gap := random.IntN(len(gaps))
		before := i - gaps[gap]
		if i >= forgetSteps/4 && random.Uint64()&1 == 0 && sent[before] != 0 {
			copies[gap]++
			if !f.TestAndSet(stream.Digest(sent[before])) {
				missed[gap]++
			}
			sent[before] = 0
			continue
		}
		sent[i] = uint64(i) + 1
		if seen := f.TestAndSet(stream.Digest(sent[i])); i >= forgetSteps/4 {
			fresh++
			if seen {
				reported++
			}
		}
	}
	for i := range missed {
		missed[i] /= copies[i]
	}
	return append(missed, reported/fresh), nil
}

const (
	attackMemory     = 1 << 16
	attackCandidates = 1 << 22 // elements that the adversary hashes
	attackTargets    = 512
	attackTries      = 8 // of the adaptive adversary, at each target
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

// victim is a filter under attack, and what an adversary knows of it: cell tells from a
// digest what the filter tells elements apart by.
type victim struct {
	name string
	make func() (paper.Filter, error)
	cell func(d digest.Digest) [2]uint64
}

func victims() ([]victim, error) {
	var all []victim
	for _, s := range []shape{{1, 3}, {2, 4}} {
		c := paper.QHTConfig{Bits: attackMemory, CellBits: s.bits, Cells: s.cells, Seed: 1}
		q, err := paper.NewQHT(c)
		if err != nil {
			return nil, err
		}
		all = append(all, victim{fmt.Sprintf("QHT %dx%d", s.cells, s.bits), func() (paper.Filter, error) { return paper.NewQHT(c) },
			func(d digest.Digest) [2]uint64 { row, fingerprint := q.Cell(d); return [2]uint64{row, fingerprint} }})
	}
	open := func() (paper.Filter, error) {
		return stream.NewEngine(engine.Config{Method: "lru", Shape: "8x8", Memory: attackMemory / 8})
	}
	used, err := usedBits(open)
	return append(all, victim{"engine: lru 8x8", open, func(d digest.Digest) [2]uint64 { return [2]uint64{d[0] & used[0], d[1] & used[1]} }}), err
}

// usedBits returns the bits of a digest that a filter looks at. An adversary finds them by
// a filter of their own: without such a bit the filter takes the element for another one.
func usedBits(open func() (paper.Filter, error)) (used digest.Digest, err error) {
	d := digest.Digest{0x0123456789abcdef, 0xfedcba9876543210}
	for i := range 128 {
		f, err := open()
		if err != nil {
			return used, err
		}
		other := d
		other[i/64] ^= 1 << (i % 64)
		f.TestAndSet(d)
		if !f.TestAndSet(other) {
			used[i/64] |= 1 << (i % 64)
		}
		if c, ok := f.(io.Closer); ok {
			if err := c.Close(); err != nil {
				return used, err
			}
		}
	}
	return used, nil
}

// collisions returns groups of elements that a filter with the public hash cannot tell
// apart.
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
	f, err := v.make()
	if err != nil {
		return false
	}
	if c, ok := f.(io.Closer); ok {
		defer c.Close()
	}
	f.TestAndSet(a)
	return f.TestAndSet(b)
}

// attackGaps are the elements of others between those of the adversary.
var attackGaps = []int{0, 1 << 8, 1 << 12, 1 << 14, 1 << 16}

const adaptiveGap = 1 << 12

// attack is Theorem 7.2: elements made to be false positives, with a hash function that
// the adversary knows and with one under a secret key.
func attack(ctx context.Context, o result.Options) (result.Table, error) {
	table := result.Table{
		Title: "An adversary forges false positives: public hashing and a secret key",
		Setting: fmt.Sprintf("Theorem 7.2, filters of %d bits in saturation. The adversary hashes %d elements with AES under a key that is not secret, takes %d pairs that a filter cannot tell apart, "+
			"sends the first of each and, after some elements of others, the second, which is new: the share reported as duplicates. The filter hashes with that key (public), or with another (secret), as flowdedup does.",
			attackMemory, attackCandidates, attackTargets),
		Corner: "elements between",
		Notes: []string{
			fmt.Sprintf("Adaptive: of each group of elements that collide under the public key the adversary sends %d, with %d elements of others before each, and then one more of those eighth of the groups that had the most reported. ", attackTries, adaptiveGap) +
				"Under a secret key the past verdicts of a group tell nothing about its next element.",
			"Without a key a forged element costs as many hashes as there are rows and fingerprints: 153,000, 123,000 and 261,000 here. Nothing has to be known of the filter's memory: the adversary filled the cell.",
			"Under a secret key the rate is that of any new element, k/S. It does not depend on the elements between.",
		},
	}
	all, err := victims()
	if err != nil {
		return table, err
	}
	for _, gap := range attackGaps {
		table.Rows = append(table.Rows, result.Row{Name: fmt.Sprint(gap)})
	}
	table.Rows = append(table.Rows, result.Row{Name: "adaptive"}, result.Row{Name: "FPR of others"})
	rates := make([][2][]float64, len(all))
	err = result.Parallel(ctx, len(all), o.Workers, func(i int) error {
		public, secret := newKeyed(1), newKeyed(2)
		groups := all[i].collisions(public)
		for j, hash := range []keyed{public, secret} {
			if rates[i][j], err = all[i].play(ctx, groups, hash); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return table, err
	}
	for i, v := range all {
		for j, key := range []string{"public", "secret"} {
			table.Columns = append(table.Columns, v.name+", "+key)
			for row, rate := range rates[i][j] {
				table.Rows[row].Cells = append(table.Rows[row].Cells, result.Measured(100*rate, "%"))
			}
		}
	}
	var x []float64
	for _, gap := range attackGaps {
		x = append(x, float64(gap+1))
	}
	table.Charts = []result.Picture{{File: "p3-attack", Chart: chart.Chart{
		Title: "Forged false positives", X: "elements of others between", Y: "reported, %", LogX: true,
		Lines: table.Lines(x, func(column int) bool { return column%2 == 1 }),
	}}}
	return table, nil
}

// game is a filter in use, by an adversary and by others.
type game struct {
	filter          paper.Filter
	hash            keyed
	next            uint64 // the next element of others
	fresh, reported float64
}

// others sends new elements of others.
func (g *game) others(count int) {
	for range count {
		g.next++
		g.fresh++
		if g.filter.TestAndSet(g.hash.of(1<<40 + g.next)) {
			g.reported++
		}
	}
}

// start opens a filter and fills it.
func (g *game) start(v victim) (err error) {
	g.end()
	if g.filter, err = v.make(); err != nil {
		return err
	}
	fresh, reported := g.fresh, g.reported
	g.others(2 * attackMemory)
	g.fresh, g.reported = fresh, reported
	return nil
}

func (g *game) end() {
	if c, ok := g.filter.(io.Closer); ok {
		c.Close()
	}
}

// send sends one element of each group, and tells which are reported.
func (g *game) send(groups [][]uint64, element int, reported func(group int)) {
	for i, group := range groups {
		if g.filter.TestAndSet(g.hash.of(group[element])) {
			reported(i)
		}
	}
}

// play returns the adversary's success for each gap and by adapting, and the rate of
// others.
func (v victim) play(ctx context.Context, groups [][]uint64, hash keyed) (rates []float64, err error) {
	g := game{hash: hash}
	defer g.end()
	success := 0
	for _, gap := range attackGaps {
		if err := errors.Join(g.start(v), ctx.Err()); err != nil {
			return nil, err
		}
		g.send(groups, 0, func(int) {})
		g.others(gap)
		success = 0
		g.send(groups, 1, func(int) { success++ })
		rates = append(rates, float64(success)/float64(len(groups)))
	}
	if err := g.start(v); err != nil {
		return nil, err
	}
	hits, order := make([]int, len(groups)), make([]int, len(groups))
	for try := range attackTries {
		g.others(adaptiveGap)
		g.send(groups, try, func(group int) { hits[group]++ })
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return hits[b] - hits[a] })
	best := order[:len(order)/8]
	success = 0
	for _, i := range best {
		if g.filter.TestAndSet(hash.of(groups[i][attackTries])) {
			success++
		}
	}
	return append(rates, float64(success)/float64(len(best)), g.reported/g.fresh), nil
}
