// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"os/exec"
	"testing"
)

// Build builds programs of this module, whose paths begin with a dot, in a folder that the test
// removes. They need no loader of C, which makes calls of its own.
func Build(t testing.TB, programs ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	build := exec.Command("go", append([]string{"build", "-o", folder + "/"}, programs...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return folder
}
