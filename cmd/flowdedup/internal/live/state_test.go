package live

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStateStopped leaves the file before, and nothing else, when a save is stopped at any moment.
func TestStateStopped(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "state.zst")
	s := &state{run: &runner{cfg: &Config{State: name}, log: slog.New(slog.DiscardHandler)}}
	for range 3 {
		s.copy.Write(make([]byte, 1<<10))
	}
	old := testHeader()
	if _, err := s.write(old, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := readState(opened(t, name)); err != nil || !h.Saved.Equal(old.Saved) {
		t.Fatal("a name that ends as those of compressed files: ", err)
	}
	const looks = 6 // the header, three writes, the sum, and before the end
	for after := range looks {
		h, seen := testHeader(), 0
		h.Saved = h.Saved.Add(time.Hour)
		_, err := s.write(h, func() bool { seen++; return seen > after })
		if !errors.Is(err, errSuperseded) {
			t.Errorf("stopped after %d looks: %v", after, err)
		}
		s.saved(0, h.Saved, err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
		t.Error("the file before was changed: ", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if status := s.show(); status.Failed != "" || !status.Saved.IsZero() {
		t.Errorf("told: %+v", status)
	}
}
