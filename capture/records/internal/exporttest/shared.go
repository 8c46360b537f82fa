// SPDX-License-Identifier: Apache-2.0

package exporttest

import (
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the files of real exporters' messages next to the shared captures whose names
// match a pattern, or skips the test. It is for packages of capture/records.
func Shared(t testing.TB, pattern string) []string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "pcaps")
	}
	dir = filepath.Join(filepath.Dir(dir), "flows")
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skipf("no messages of exporters in %s; FLOWDEDUP_SHARED names the folder of captures beside it", dir)
	}
	return names
}
