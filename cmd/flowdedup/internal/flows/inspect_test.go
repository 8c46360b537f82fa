// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"math"
	"math/bits"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/layout"
)

// TestInspectorWithoutMemory has no memory for the judges of --inspect, while there is memory for the
// run's own.
func TestInspectorWithoutMemory(t *testing.T) {
	if bits.UintSize < 64 {
		t.Skip("no memory that an int can ask for is too much")
	}
	j := judging{cfg: &config{Inspect: true, Memory: math.MaxInt / 2}} // more than an address space has
	var err error
	if j.match, err = match.New(match.Config{Memory: layout.LineSize}); err != nil {
		t.Fatal(err)
	}
	if err := j.open(t.Context(), nil); err == nil {
		t.Error("there was memory")
	}
	if err := j.close(false); err != nil {
		t.Error(err)
	}
}
