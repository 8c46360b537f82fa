package router_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestRebuild makes all captures anew and checks them like the stored ones.
// It takes minutes, creates network namespaces and may install packages, so it
// runs only where it was asked for.
func TestRebuild(t *testing.T) {
	if os.Getenv("FLOWDEDUP_REBUILD") != "1" {
		t.Skip("set FLOWDEDUP_REBUILD=1 to rebuild the captures")
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("network namespaces need root on Linux")
	}
	dir := t.TempDir()
	rebuild := exec.Command("./rebuild.sh", dir)
	rebuild.Stdout, rebuild.Stderr = os.Stdout, os.Stderr
	if err := rebuild.Run(); err != nil {
		t.Fatal(err)
	}
	stored, err := filepath.Glob(filepath.Join(capturesDir, "*.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stored {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			checkTruth(t, dir, readTruth(t, filepath.Join(dir, name)))
		})
	}
}
