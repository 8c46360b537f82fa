package stable

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// maker makes one table.
type maker func(ctx context.Context, o result.Options) (result.Table, error)

// makers returns the tables' names, in order, with what makes them.
func makers() ([]string, map[string]maker) {
	names := []string{"p0.table2", "p0.figure1", "p0.figure2", "p0.figure3", "p0.figure4", "p0.parameters", "p0.bound"}
	return names, map[string]maker{
		"p0.table2":     table2,
		"p0.figure1":    figure1,
		"p0.figure2":    figure2,
		"p0.figure3":    figure3,
		"p0.figure4":    figure4,
		"p0.parameters": parameters,
		"p0.bound":      bound,
	}
}

// Experiment returns Table 2, Figures 1 to 4, the parameters that section 4.1
// recommends, and the bound of section 3.5 on several streams.
func Experiment() result.Experiment {
	names, all := makers()
	return result.Experiment{
		Paper:  "p0",
		Title:  "Approximately Detecting Duplicates for Streaming Data using Stable Bloom Filters",
		Tables: names,
		Run: func(ctx context.Context, name string, o result.Options) (result.Table, error) {
			maker, ok := all[name]
			if !ok {
				return result.Table{}, fmt.Errorf("stable: no table %q", name)
			}
			table, err := maker(ctx, o)
			table.Name = name
			return table, err
		},
	}
}
