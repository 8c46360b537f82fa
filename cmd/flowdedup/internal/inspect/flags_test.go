// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestInspectFor checks that --for of inspect still takes a duration.
func TestInspectFor(t *testing.T) {
	f, cmd := &flags{}, &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags([]string{"-i", "lo", "--for", "7s"}); err != nil || f.length != 7*time.Second || f.reader.IsSet() {
		t.Errorf("%v, %v, %+v", err, f.length, f.reader)
	}
}
