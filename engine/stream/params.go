// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

// lineFamily is a kind of line.
type lineFamily uint8

const (
	familyRows lineFamily = iota
	familyBits
	familyCells
)

// methodTable are the methods of a Filter. Snapshots store an index of this table.
var methodTable = []struct {
	name     string
	eviction line.Eviction     // of rows
	bits     line.StableMethod // of bit lines
	rows     bool
}{
	{name: "lru", rows: true, eviction: line.EvictLRU},
	{name: "qht", rows: true, eviction: line.EvictRandom},
	{name: "qqhtd", rows: true, eviction: line.EvictQueue},
	{name: "sbf", bits: line.StableSBF},
	{name: "rsbf", bits: line.StableRSBF},
	{name: "bsbf", bits: line.StableBSBF},
	{name: "bsbfsd", bits: line.StableBSBFSD},
	{name: "rlbsbf", bits: line.StableRLBSBF},
	{name: "qhtd", rows: true, eviction: line.EvictRandomCopies},
	{name: "qqht", rows: true, eviction: line.EvictQueueOnce},
}

// Methods returns the methods that New knows, the recommended method first.
func Methods() []string {
	names := make([]string, len(methodTable))
	for i := range methodTable {
		names[i] = methodTable[i].name
	}
	return names
}

// HasRows reports whether the elements of a method are fingerprints in rows, which have a
// Shape.
func HasRows(method string) bool {
	i := methodIndex(method)
	return i >= 0 && methodTable[i].rows
}

// IsMethod reports whether New knows a method of that name.
func IsMethod(name string) bool { return name != "" && methodIndex(name) >= 0 }

// methodIndex returns the place of a method in methodTable, or -1 if there is none of
// that name. "" stands for the first.
func methodIndex(name string) int {
	if name == "" {
		return 0
	}
	return slices.Index(Methods(), name)
}

// Shape is a shape of the rows of a Filter.
type Shape struct {
	Name string // as in Config
	layout.RowShape
}

// FPR bounds the probability that such a row takes an element that never came for seen: c
// / (2^w - 1) for c cells of w bits.
func (s Shape) FPR() float64 { return min(1, rowRate(s.RowShape, 1)) }

// Shapes returns the shapes of rows. The ones that miss fewest elements at equal memory
// come first, so the bounds of the false positive rate fall. New takes the first shape
// that keeps the rate.
func Shapes() []Shape { return slices.Clone(shapeTable) }

var shapeTable = []Shape{
	{"8x8", layout.Rows8x8},
	{"32x16", layout.Lines32x16},
	{"4x16", layout.Rows4x16},
	{"16x32", layout.Lines16x32},
	{"8x64", layout.Lines8x64},
}

const (
	// defaultRowFPR chooses rows of 4x16.
	defaultRowFPR    = 1e-4
	defaultStableFPR = 0.01
	// defaultParts is the best K of the papers for filters of bits that keep no chosen
	// rate.
	defaultParts = 2
	// defaultThreshold is the p* of rsbf in the paper.
	defaultThreshold = 0.03
	// replaceUnit is the number of units of p* in 1. Whole numbers are the same on every
	// machine.
	replaceUnit = 1_000_000
)

// parameters are all parameters of a filter.
type parameters struct {
	method int // of methodTable
	shape  layout.RowShape
	k      int // 1 for rows
	p      int // P of sbf, p* of rsbf in parts of replaceUnit, else 0
	max    int // 1 except for sbf
	lines  int
}

// chooseParameters chooses the parameters that c leaves open.
func chooseParameters(c Config) (parameters, error) {
	p := parameters{k: 1, max: 1}
	p.method = methodIndex(c.Method)
	if p.method < 0 {
		return p, fmt.Errorf("%w: method %q, must be one of %s", errParameter, c.Method, strings.Join(Methods(), ", "))
	}
	c.Method = methodTable[p.method].name
	lines, err := mem.CellLines(c.Memory)
	if err != nil {
		return p, err
	}
	p.lines = lines
	if c.FPR != 0 && !(c.FPR > 0 && c.FPR < 1) {
		return p, fmt.Errorf("%w: %v is not between 0 and 1", engine.ErrFPR, c.FPR)
	}
	if err := p.refuseForeign(c); err != nil {
		return p, err
	}
	switch {
	case p.family() == familyRows:
		err = p.chooseShape(c)
	case c.Method == "sbf":
		err = p.chooseStable(c)
	default:
		err = cmp.Or(p.chooseThreshold(c), p.chooseParts(c))
	}
	return p, err
}

// Complete returns the configuration with all that New chooses. Its FPR is the rate that
// the filter never exceeds. It returns the errors of New, without layout.NewArena's.
func (c Config) Complete() (Config, error) {
	c.Memory = cmp.Or(c.Memory, mem.MaxDefault)
	p, err := chooseParameters(c)
	if err != nil {
		return c, err
	}
	c.Method, c.Memory, c.FPR = methodTable[p.method].name, p.lines*layout.LineSize, p.bound()
	switch {
	case p.family() == familyRows:
		i := slices.IndexFunc(shapeTable, func(s Shape) bool { return s.RowShape == p.shape })
		c.Shape = shapeTable[i].Name
	case c.Method == "sbf":
		c.K, c.P, c.Max = p.k, p.p, p.max
	default:
		c.K, c.Threshold = p.k, float64(p.p)/replaceUnit
	}
	return c, nil
}

// refuseForeign returns an error if a parameter is set that the method does not have.
func (p *parameters) refuseForeign(c Config) error {
	rows, stable := p.family() == familyRows, c.Method == "sbf"
	for _, v := range []struct {
		name    string
		set, ok bool
	}{
		{"Shape", c.Shape != "", rows},
		{"K", c.K != 0, !rows},
		{"P", c.P != 0, stable},
		{"Max", c.Max != 0, stable},
		{"Threshold", c.Threshold != 0, c.Method == "rsbf"},
	} {
		if v.set && !v.ok {
			return fmt.Errorf("%w: method %s has no %s", errParameter, c.Method, v.name)
		}
	}
	return nil
}

// chooseShape takes the first shape that keeps the rate.
func (p *parameters) chooseShape(c Config) error {
	limit := c.FPR
	if limit == 0 && c.Shape == "" {
		limit = defaultRowFPR
	}
	for _, s := range shapeTable {
		if c.Shape != "" && c.Shape != s.Name {
			continue
		}
		p.shape = s.RowShape
		if limit == 0 || p.bound() <= limit {
			return nil
		}
		if c.Shape != "" {
			return fmt.Errorf("%w: rows of %s keep %.3g, not %.3g", engine.ErrFPR, s.Name, p.bound(), limit)
		}
	}
	if c.Shape != "" {
		return fmt.Errorf("%w: shape %q, must be 8x8, 4x16, 32x16, 16x32 or 8x64", errParameter, c.Shape)
	}
	return fmt.Errorf("%w: %.3g, must be at least %.3g with rows", engine.ErrFPR, limit, p.bound())
}

// chooseThreshold takes the p* of rsbf. Other methods have none.
func (p *parameters) chooseThreshold(c Config) error {
	if c.Method != "rsbf" {
		return nil
	}
	units := math.Round(cmp.Or(c.Threshold, defaultThreshold) * replaceUnit)
	if !(units >= 1 && units <= replaceUnit) {
		return fmt.Errorf("%w: p* is %v, must be from %v to 1 with rsbf", errParameter, c.Threshold, 1.0/replaceUnit)
	}
	p.p = int(units)
	return nil
}

// replaceFrom returns the position of the first element that rsbf replaces, the first i at
// which s/i is at most p*, with s bits in a part of all lines. It is 0 for other methods.
func (p *parameters) replaceFrom() uint64 {
	if methodTable[p.method].bits != line.StableRSBF {
		return 0
	}
	s, share := uint64(8*layout.LineSize/p.k*p.lines), uint64(p.p)
	return (s*replaceUnit + share - 1) / share
}

// chooseParts takes the smallest K that keeps the rate.
func (p *parameters) chooseParts(c Config) error {
	if c.K < 0 || c.K > layout.MaxStableParts {
		return fmt.Errorf("%w: K is %d, must be from 1 to %d with %s", errParameter, c.K, layout.MaxStableParts, c.Method)
	}
	if c.FPR == 0 {
		p.k = c.K
		if c.K == 0 {
			p.k = defaultParts
		}
		return nil
	}
	least := math.Inf(1)
	for p.k = 1; p.k <= layout.MaxStableParts; p.k++ {
		if c.K != 0 && c.K != p.k {
			continue
		}
		if p.bound() <= c.FPR {
			return nil
		}
		least = min(least, p.bound())
	}
	return fmt.Errorf("%w: %.3g, must be at least %.3g with %s: its limit on a long stream", engine.ErrFPR, c.FPR, least, c.Method)
}

// family returns the kind of the filter's lines.
func (p *parameters) family() lineFamily {
	switch {
	case methodTable[p.method].rows:
		return familyRows
	case p.max > 1:
		return familyCells
	}
	return familyBits
}

// cellBits returns how many bits a cell takes.
func (p *parameters) cellBits() int {
	switch {
	case p.family() == familyRows:
		return p.shape.CellBits()
	case p.max == 1:
		return 1
	case p.max <= 3:
		return 2
	}
	return 4
}

// lineCells returns how many cells a line has. Bits that its K equal parts leave over do
// not count.
func (p *parameters) lineCells() int {
	cells := 8 * layout.LineSize / p.cellBits()
	switch p.family() {
	case familyBits:
		return cells - cells%p.k
	case familyCells:
		return p.cells().Cells()
	}
	return cells
}

// newKernel makes the kernel of the method.
func (p *parameters) newKernel() methodKernel {
	method := methodTable[p.method]
	switch p.family() {
	case familyRows:
		return &rowKernel{params: line.RowParams{Shape: p.shape, Eviction: method.eviction}}
	case familyBits:
		return &stableKernel{params: line.StableParams{Method: method.bits, K: p.k, P: p.p, Replace: p.replaceFrom()}}
	default:
		rule, err := line.NewCellRule(p.cells())
		if err != nil {
			panic("stream: " + err.Error()) // chooseParameters has checked them
		}
		return &cellKernel{rule: *rule}
	}
}

// cells returns the parameters of cell lines. Hits decrement as misses do: else the bound
// would not hold for all streams.
func (p *parameters) cells() line.CellParams {
	return line.CellParams{Bits: p.cellBits(), Max: p.max, K: p.k, MissP: p.p, HitP: p.p}
}
