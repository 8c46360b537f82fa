package rivals

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

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
