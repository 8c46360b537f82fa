package quotient

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// Experiment returns the tables of the paper.
func Experiment() result.Experiment {
	var grid gridCache // Tables 2 and 4 show the same runs
	tables := map[string]func(context.Context, result.Options) (result.Table, error){
		"p3.table1":     table1,
		"p3.table2":     grid.table2,
		"p3.table3":     table3,
		"p3.table4":     grid.table4,
		"p3.table5":     table5,
		"p3.semisort":   semiSort,
		"p3.saturation": saturation,
	}
	return result.Experiment{
		Paper:  "p3",
		Title:  "Quotient Hash Tables - Efficiently Detecting Duplicates in Streaming Data (Géraud, Lombard-Platet, Naccache, SAC 2019)",
		Tables: []string{"p3.table1", "p3.table2", "p3.table3", "p3.table4", "p3.table5", "p3.semisort", "p3.saturation"},
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			run, ok := tables[name]
			if !ok {
				return result.Table{}, fmt.Errorf("quotient: no table %q", name)
			}
			table, err := run(ctx, o)
			if err != nil {
				return result.Table{}, fmt.Errorf("quotient: %s: %w", name, err)
			}
			table.Name = name
			return table, nil
		},
	}
}
