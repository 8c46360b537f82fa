// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
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

// TestInspectCapture refuses to take packets away from the host.
func TestInspectCapture(t *testing.T) {
	for how, refused := range map[string]bool{"xdp": true, "afpacket": false} {
		f, cmd := &flags{}, &cobra.Command{}
		f.register(cmd)
		err := cmd.ParseFlags([]string{"-i", "lo", "--capture", how})
		if err == nil {
			err = f.check(cmd.Flags(), nil)
		}
		if got := err != nil && strings.Contains(err.Error(), "--capture xdp is not for inspect"); got != refused || !refused && err != nil {
			t.Errorf("--capture %s: %v", how, err)
		}
	}
}
