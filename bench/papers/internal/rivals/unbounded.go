package rivals

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// unboundedMethods have no window and remember what they can. The engine's own come last.
func unboundedMethods() []method {
	biased := func(bits int) paper.BiasedConfig { return paper.BiasedConfig{Bits: bits, K: 2, Seed: 1} }
	quotient := func(bits int) paper.QHTConfig {
		return paper.QHTConfig{Bits: bits, CellBits: 8, Cells: 4, Seed: 1}
	}
	return append([]method{
		stable(1, 2, 4),
		stable(2, 4, 26),
		untimedMethod("BSBF k2", func(bits int) (*paper.BSBF, error) { return paper.NewBSBF(biased(bits)) }),
		untimedMethod("BSBFSD k2", func(bits int) (*paper.BSBFSD, error) { return paper.NewBSBFSD(biased(bits)) }),
		untimedMethod("RLBSBF k2", func(bits int) (*paper.RLBSBF, error) { return paper.NewRLBSBF(biased(bits)) }),
		untimedMethod("QHT 4x8", func(bits int) (*paper.QHT, error) { return paper.NewQHT(quotient(bits)) }),
		untimedMethod("QQHTD 4x8", func(bits int) (*paper.QQHTD, error) { return paper.NewQQHTD(quotient(bits)) }),
		rows(4, 4, 16),
		rows(4, 8, 32),
		rows(42, 12, lineBits),
		rows(39, 13, lineBits),
		rows(8, 16, 128),
		buffer,
		untimedMethod("A2 for 1 %", func(bits int) (*paper.A2, error) { return paper.NewA2ForRate(bits, 0.01) }),
		halfFullAgePartitioned,
		halfFullJumping,
		halfFullDecaying,
	}, engineStreams()...)
}

// buffer is a least recently used buffer of whole elements. It has no false positives.
var buffer = method{
	name: "LRU buffer of 64 bits",
	build: func(bits int, _ *trace) (Windowed, error) {
		f, err := paper.NewLRU(bits, 64)
		return untimed{f}, err
	},
	predict: func(int, *trace) (float64, error) { return 0, nil },
}

// Methods with a window get one in which half of their bits are set.
var (
	halfFullAgePartitioned = method{name: "age-partitioned K8 L8", build: func(bits int, _ *trace) (Windowed, error) {
		const k, l = 8, 8
		window := int64(max(1, l*math.Ln2*float64(bits/(k+l))/k))
		return NewAgePartitioned(AgePartitionedConfig{Lines: 1, LineBits: bits, K: k, L: l, Window: window})
	}}
	halfFullJumping = method{name: "jumping J4 K7", build: func(bits int, _ *trace) (Windowed, error) {
		const jumps, k = 4, 7
		window := int64(max(1, jumps*math.Ln2*float64(bits/(jumps+1))/k))
		return NewJumping(JumpingConfig{Lines: 1, LineBits: bits, Jumps: jumps, K: k, Window: window})
	}}
	halfFullDecaying = method{name: "b_DBF 3-bit K4", build: func(bits int, _ *trace) (Windowed, error) {
		const k, counterBits = 4, 3
		window := int(max(1, math.Ln2*float64(bits/counterBits)/k))
		f, err := paper.NewBDBF(paper.BDBFConfig{Bits: bits, CellBits: counterBits, K: k, Window: window})
		return untimed{f}, err
	}}
)

// unboundedStream is one of the streams without a window.
type unboundedStream struct {
	title string
	make  func(n int) *trace
}

var unboundedStreams = map[string]unboundedStream{
	"rivals.unbounded": {"a web-like stream", crawl},
	"rivals.zipf":      {"Zipf 1.0 on 2^24 elements", zipf},
	"rivals.uniform":   {"60 % distinct elements, copies of uniformly chosen ones", uniform},
}

func unboundedTable(ctx context.Context, name string, o result.Options) (result.Table, error) {
	s, n, sizes := unboundedStreams[name], 400_000, []int{1 << 14, 1 << 18, 1 << 22}
	if o.Full {
		n, sizes = 10_000_000, append(sizes, 1<<26)
	}
	t := s.make(n)
	g := grid{methods: unboundedMethods(), memory: sizes, trace: t}
	if err := g.run(ctx, o.Workers); err != nil {
		return result.Table{}, err
	}
	table := g.table([]string{"16 kbit", "256 kbit", "4 Mbit", "64 Mbit"}[:len(sizes)])
	table.Name = name
	table.Title = "Unbounded streams at equal memory: " + s.title
	table.Setting = fmt.Sprintf("%d records. Rates over the whole stream: FPR among first occurrences, FNR among all others.", n)
	table.Charts = []result.Picture{g.front(name, "Unbounded: "+s.title)}
	return table, nil
}

// tables makes each table by its name.
var tables = map[string]func(context.Context, string, result.Options) (result.Table, error){
	"rivals.unbounded": unboundedTable,
	"rivals.zipf":      unboundedTable,
	"rivals.uniform":   unboundedTable,
	"rivals.sliding":   slidingTable,
	"rivals.packets":   packetTable,
	"rivals.distinct":  distinctTable,
}

// Experiment returns the comparison with modern rivals.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper: "rivals",
		Title: "Modern rivals at equal memory",
		Tables: []string{
			"rivals.unbounded", "rivals.zipf", "rivals.uniform",
			"rivals.sliding", "rivals.packets", "rivals.distinct",
		},
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			run, ok := tables[name]
			if !ok {
				return result.Table{}, fmt.Errorf("no table %q among the rivals", name)
			}
			return run(ctx, name, o)
		},
	}
}
