// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestInputs splits names, and leaves folders as they are: each listing opens all of their captures.
func TestInputs(t *testing.T) {
	const folder = "../../../../testdata/pcaps"
	for _, c := range []struct {
		read, args, in, out []string
	}{
		{nil, []string{folder, "out"}, []string{folder}, []string{"out"}},
		{nil, []string{folder, "out", folder}, []string{folder}, []string{"out", folder}},
		{[]string{folder}, []string{"out"}, []string{folder}, []string{"out"}},
		{nil, nil, nil, nil},
	} {
		var f flags
		f.Read = c.read
		if in, out := f.inputs(new(cobra.Command), c.args); !slices.Equal(in, c.in) || !slices.Equal(out, c.out) {
			t.Errorf("%v, %v: in %v, out %v", c.read, c.args, in, out)
		}
	}
}
