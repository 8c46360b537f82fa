package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCSVKeepsInput refuses a CSV file in the place of a capture.
func TestCSVKeepsInput(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcapng")
	data, err := os.ReadFile(bundled("router-plain.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, data, 0o666); err != nil {
		t.Fatal(err)
	}
	_, errs, code := run("distinct", "--csv", in, in)
	if code != exitUsage || !strings.Contains(errs, in) {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if now, err := os.ReadFile(in); err != nil || string(now) != string(data) {
		t.Errorf("the input changed: %v", err)
	}
}

// TestNoMemoryForWindow wants an error for a counter that cannot be made.
func TestNoMemoryForWindow(t *testing.T) {
	_, errs, code := run("distinct", "--method", "bloom", "--memory", "64TiB", bundled("router-plain.pcapng"))
	if code != exitFailed || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "memory") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}
