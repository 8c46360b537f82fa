// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Population is a fixed population in rows with spare lines, whose members come at random
// times, all equally often, in windows that begin at an insertion. Members stay in their line.
// So lines with many members stay full, and each copy that they miss is one more insertion into
// the same lines.
type Population struct {
	Rows    SpareRows
	Members float64 // mean number of members of a line
	Turns   float64 // how often a member comes in a window on average
}

// Crowds reports whether the rate of misses differs from the rate of elements that come and go.
// Members that seldom come do not keep a line full, and if all lines are full they hardly differ.
func (p Population) Crowds() bool {
	return p.Turns >= 1 && p.Members*p.Turns/(1+p.Turns) <= 1.5*float64(p.Rows.Cells)
}

// simulatedMembers is how many members are simulated for each excess.
const simulatedMembers = 1500

// MissRate returns the share of the copies that are missed. It simulates lines with their spare
// line, for each excess that misses some. It takes up to a tenth of a second. Equal populations
// have equal rates.
func (p Population) MissRate() float64 {
	e := newExcess(p.Rows.Cells, p.Rows.Share, p.Members)
	rng := rand.New(rand.NewPCG(1, 2))
	once := p.Turns / (1 + p.Turns) // insertions of a member in a window, if nothing is missed
	copies, missed := float64(p.Rows.Share)*p.Members*(p.Turns-once), 0.0
	mean, deviation := e.moments()
	step := max(1, int(deviation/2))
	n := max(p.Rows.Cells/3, int(mean-6*deviation))
	for sum := 1e-6; n+step < len(e.tails) && e.tails[n] > 1e-6*sum; n += step {
		chance := e.tails[n] - e.tails[n+step]
		g := spareGroup{Population: p, rng: rng}
		for g.simulated < simulatedMembers {
			g.run(e.lines(rng, n+(step-1)/2))
		}
		missed += chance * g.missed / g.groups
		copies += chance * (float64(g.simulated)*once - g.fresh) / g.groups
		sum += chance
	}
	if missed == 0 {
		return 0
	}
	return missed / copies
}

// excess is the distribution of the number of members that their own lines have no cells for.
type excess struct {
	cells int
	sums  [][]float64 // of the given number of lines
	tails []float64   // of all lines: at least as many
}

func newExcess(cells, lines int, members float64) *excess {
	e := &excess{cells: cells}
	mean := float64(lines) * max(0, members-float64(cells))
	size := int(mean+12*math.Sqrt(float64(lines)*members)) + 8*cells
	one := make([]float64, size)
	one[0] = 1 - PoissonTail(cells+1, members)
	for n := 1; n < size; n++ {
		one[n] = events(cells+n, members)
	}
	e.sums = [][]float64{make([]float64, size)}
	e.sums[0][0] = 1
	for k := range lines {
		e.sums = append(e.sums, sumOf(e.sums[k], one))
	}
	e.tails = tailsOf(e.sums[lines])
	return e
}

// moments returns the mean of the excess of all lines, and its standard deviation.
func (e *excess) moments() (mean, deviation float64) {
	square := 0.0
	for n, p := range e.sums[len(e.sums)-1] {
		mean, square = mean+p*float64(n), square+p*float64(n)*float64(n)
	}
	return mean, math.Sqrt(max(0, square-mean*mean))
}

// lines draws the numbers of members of lines whose excess is n together, n above 0. It leaves out
// lines that have room for their members.
func (e *excess) lines(rng *rand.Rand, n int) (members []int) {
	one := e.sums[1]
	for k := len(e.sums) - 1; k > 0 && n > 0; k-- {
		at, own := rng.Float64()*e.sums[k][n], 0
		for ; own < n; own++ {
			if at -= one[own] * e.sums[k-1][n-own]; at < 0 {
				break
			}
		}
		if own > 0 {
			members = append(members, e.cells+own)
		}
		n -= own
	}
	return members
}

// spareGroup simulates lines with a spare line. Time is in windows.
type spareGroup struct {
	Population
	rng *rand.Rand

	line     []int         // of each member
	inserted []float64     // when each member was inserted last
	next     []float64     // when each member will be
	rows     [][]spareCell // the latest cell first
	spare    []spareCell   // the latest to come first

	groups        float64
	simulated     int     // members
	missed, fresh float64 // insertions in a window, of all groups
}

// spareCell is what a line remembers of an insertion.
type spareCell struct {
	member   int
	inserted float64
}

// begin empties the lines, which have the given numbers of members.
func (g *spareGroup) begin(lines []int) {
	g.line, g.inserted, g.next = g.line[:0], g.inserted[:0], g.next[:0]
	g.rows, g.spare = make([][]spareCell, len(lines)), g.spare[:0]
	for line, n := range lines {
		for range n {
			g.line = append(g.line, line)
			g.inserted = append(g.inserted, math.Inf(-1))
			g.next = append(g.next, g.rng.Float64()*(1+1/g.Turns))
		}
	}
}

// run simulates one group for some insertions of each member, the first of which do not count.
func (g *spareGroup) run(lines []int) {
	g.begin(lines)
	const before, counted = 2, 5
	n := len(g.line)
	var now, begin, missed, fresh float64
	for i := range (before + counted) * n {
		at := 0
		for j, next := range g.next {
			if next < g.next[at] {
				at = j
			}
		}
		now = g.next[at]
		switch {
		case i < before*n:
			begin = now
		case now-g.inserted[at] <= 1:
			missed++
		default:
			fresh++
		}
		g.inserted[at], g.next[at] = now, now+1+g.wait()
		g.insert(at, now)
	}
	g.missed += missed / (now - begin)
	g.fresh += fresh / (now - begin)
	g.groups++
	g.simulated += n
}

// wait returns how long it takes until a member comes.
func (g *spareGroup) wait() float64 { return g.rng.ExpFloat64() / g.Turns }

// insert puts a member in front of its line.
func (g *spareGroup) insert(member int, now float64) {
	row := &g.rows[g.line[member]]
	*row = without(*row, member)
	if g.Rows.OldestFirst {
		g.spare = without(g.spare, member)
	}
	if last := len(*row) - 1; last == g.Rows.Cells-1 {
		g.spill((*row)[last], now)
		*row = (*row)[:last]
	}
	*row = slices.Insert(*row, 0, spareCell{member, now})
}

// without removes the cell of a member.
func without(cells []spareCell, member int) []spareCell {
	return slices.DeleteFunc(cells, func(c spareCell) bool { return c.member == member })
}

// spill moves a cell that a line has no room for to the spare line.
func (g *spareGroup) spill(c spareCell, now float64) {
	if now-c.inserted > 1+g.Rows.Slack {
		return
	}
	g.spare = without(g.spare, c.member)
	if len(g.spare) == g.Rows.Cells {
		g.evict(now)
	}
	g.spare = slices.Insert(g.spare, 0, c)
}

// evict removes a cell of the spare line. If that was its member's last insertion, the member is
// inserted when it comes next.
func (g *spareGroup) evict(now float64) {
	at := len(g.spare) - 1
	if g.Rows.OldestFirst {
		for i, c := range g.spare {
			if c.inserted < g.spare[at].inserted {
				at = i
			}
		}
	}
	if c := g.spare[at]; g.inserted[c.member] == c.inserted && now-c.inserted <= 1 {
		g.next[c.member] = now + g.wait()
	}
	g.spare = slices.Delete(g.spare, at, at+1)
}
