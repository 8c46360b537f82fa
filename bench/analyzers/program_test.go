// SPDX-License-Identifier: Apache-2.0

package analyzers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const capturesDir = "../../testdata/pcaps"

// flowdedup is the command that is judged; TestMain builds it. known is a folder for what
// tshark printed.
var flowdedup, known string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run))
}

// withProgram runs tests while the built command is there.
func withProgram(run func() int) int {
	dir, err := os.MkdirTemp("", "flowdedup-analyzers-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	flowdedup, known = filepath.Join(dir, "flowdedup"), filepath.Join(dir, "known")
	if err := os.Mkdir(known, 0o700); err != nil {
		panic(err)
	}
	if text, err := exec.Command("go", "build", "-ldflags=-s", "-o", flowdedup, "../../cmd/flowdedup").CombinedOutput(); err != nil {
		panic(string(text))
	}
	defer python.end()
	return run()
}

// need skips a test where a program is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("skipped: ", err)
		}
	}
}

// command runs a program to its end and returns its output.
func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// absolute returns a path that holds in every folder.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
