package sliding

import (
	"context"
	"fmt"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
)

// Experiment returns Figures 9 to 11.
func Experiment() result.Experiment {
	return result.Experiment{
		Paper:  "p4",
		Title:  "One is Enough: Distributed Filtering for Duplicate Elimination",
		Tables: []string{"p4.figure9", "p4.figure10", "p4.figure11"},
		Run:    run,
	}
}

func run(ctx context.Context, name string, o result.Options) (result.Table, error) {
	s := newSource()
	s.seeds = 3
	if o.Full {
		s.seeds = 20 // the streams have the printed size anyway
	}
	return figure(ctx, name, s, o.Workers)
}

func figure(ctx context.Context, name string, s *source, workers int) (result.Table, error) {
	switch name {
	case "p4.figure9":
		return figure9(ctx, s, workers)
	case "p4.figure10":
		return figure10(ctx, s, workers)
	case "p4.figure11":
		return figure11(ctx, s, workers)
	}
	return result.Table{}, fmt.Errorf("sliding: no table %q", name)
}
