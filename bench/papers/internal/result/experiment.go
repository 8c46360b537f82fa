package result

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Experiment reproduces some tables of one paper.
type Experiment struct {
	Paper  string   // "p1"; what -only selects, with all of its tables
	Title  string   // the paper's
	Tables []string // the names of the tables it makes, "p1.table4", in order
	// Run makes the table of one name. It returns early with ctx's error when ctx
	// is done.
	Run func(ctx context.Context, name string, o Options) (Table, error)
}

// Maker makes the table of one name.
type Maker struct {
	Name string
	Make func(ctx context.Context, o Options) (Table, error)
}

// New returns the experiment that makes the tables of a paper.
func New(paper, title string, makers ...Maker) Experiment {
	e := Experiment{Paper: paper, Title: title}
	for _, m := range makers {
		e.Tables = append(e.Tables, m.Name)
	}
	e.Run = func(ctx context.Context, name string, o Options) (Table, error) {
		i := slices.Index(e.Tables, name)
		if i < 0 {
			return Table{}, fmt.Errorf("%s: no table %q", paper, name)
		}
		table, err := makers[i].Make(ctx, o)
		table.Name = name
		return table, err
	}
	return e
}

// Options say how an experiment is run.
type Options struct {
	Full    bool // the printed sizes instead of scaled ones
	Workers int  // goroutines to use, 1 or more
	// Counts is a file that keeps the rows of printed size of p1, so that a run can be
	// interrupted; "" for none.
	Counts string
}

// Parallel calls task(0) to task(n-1) on workers goroutines, and returns their errors
// joined. After an error, or when ctx is done, it starts no further task.
func Parallel(ctx context.Context, n, workers int, task func(i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int)
	workers = min(n, max(workers, 1))
	failed := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := range next {
				if err := task(i); err != nil {
					failed[worker] = errors.Join(failed[worker], err)
					cancel()
				}
			}
		})
	}
	err := feed(ctx, next, n)
	group.Wait()
	if all := errors.Join(failed...); all != nil {
		return all
	}
	return err
}

// feed hands out the tasks until ctx is done.
func feed(ctx context.Context, next chan<- int, n int) error {
	defer close(next)
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
