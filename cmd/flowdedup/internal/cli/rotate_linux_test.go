package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRotateFull runs out of room within a file: those before it stay, and nothing is
// left of it.
func TestRotateFull(t *testing.T) {
	in := bundled("router-vlan.pcapng")
	args := []string{"dedup", in, "--window", "n:1", "--rotate-every", "1s"}
	dir := t.TempDir()
	runDedup(t, exitDone, append(args[1:], "-w", filepath.Join(dir, "out.pcapng"))...)
	whole := rotatedFiles(t, dir, "out")
	full := 1
	for fileSize(t, whole[full]) <= fileSize(t, whole[full-1]) {
		full++
	}
	dir = t.TempDir()
	out := filepath.Join(dir, "out.pcapng")
	cmd := program(t, append(args, "-w", out)...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, fileSize(t, whole[full])-1))
	text, err := cmd.CombinedOutput()
	if code := exitCodeOf(t, err); code != exitFailed || !strings.HasPrefix(string(text), "flowdedup: write "+out) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("exit code %d, %q", code, text)
	}
	names := rotatedFiles(t, dir, "out")
	if len(names) < full || len(names) > full+1 || len(names) > full && !strings.Contains(names[full], ".partial.") {
		t.Errorf("left behind: %q", names)
	}
	for i, name := range names[:full] {
		compareRecords(t, name, readAll(t, name), readAll(t, whole[i]))
	}
}
