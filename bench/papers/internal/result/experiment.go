package result

import "context"

// Experiment makes some tables of one paper anew.
type Experiment struct {
	Paper  string   // "p1"; what -only selects, with all of its tables
	Title  string   // the paper's
	Tables []string // the names of the tables it makes, "p1.table4", in order
	// Run makes the table of one name. It returns early with ctx's error when ctx
	// is done.
	Run func(ctx context.Context, name string, o Options) (Table, error)
}

// Options say how an experiment is run.
type Options struct {
	Full    bool // the printed sizes instead of scaled ones
	Workers int  // goroutines to use, 1 or more
}
