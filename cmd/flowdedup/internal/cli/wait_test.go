package cli

import (
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
)

// patience is how long a test waits for what must come.
const patience = benchlab.Timeout

// waitFor waits until something is true.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	if !benchlab.WaitFor(done) {
		t.Fatal("waited too long for ", what)
	}
}

// sample returns every n-th case where tests shall be short, as under the race detector:
// cases of one kind run the same goroutines. All run otherwise.
func sample[T any](n int, cases []T) (some []T) {
	if !testing.Short() {
		return cases
	}
	for i := 0; i < len(cases); i += n {
		some = append(some, cases[i])
	}
	return some
}
