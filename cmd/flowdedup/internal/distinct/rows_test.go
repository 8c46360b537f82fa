// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestDistinctRows counts flows in rows. The counts are exact if all flows fit, and lie
// between valid bounds otherwise.
func TestDistinctRows(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	flows := func(args ...string) rowCount {
		t.Helper()
		out, errs, code := clitest.Run(append([]string{"distinct", "--json", "--every", "none", "--of", "flow", in}, args...)...)
		if code != cli.ExitDone {
			t.Fatalf("%s: exit code %d, stderr %q", args, code, errs)
		}
		var last rowCount
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			if err := dec.Decode(&last); err != nil {
				t.Fatal(err)
			}
		}
		return last
	}
	exact := flows("--method", "exact")
	if got := flows("--method", "lru", "--memory", "1MiB"); got.Distinct != exact.Distinct || got.Low != got.High || got.Method != "lru" {
		t.Errorf("%+v, want %d", got, exact.Distinct)
	}
	for _, memory := range []string{"64", "256", "1KiB"} {
		got := flows("--method", "lru", "--memory", memory, "--fpr", "5%")
		if got.Low > exact.Distinct || got.High < exact.Distinct || got.FPR > 0.05 {
			t.Errorf("%s: %+v, want %d", memory, got, exact.Distinct)
		}
	}
}

// rowCount is the row of all families.
type rowCount struct {
	Distinct, Low, High uint64
	Method              string
	FPR                 float64
}
