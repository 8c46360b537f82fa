package sink

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// unclosable is a writer that cannot write what it has gathered.
type unclosable struct{ capture.Writer }

func (unclosable) Close() error { return errFull }

// TestLastWriteFails when the output is to be completed: that is a failure of the run, and
// tells where the packets are.
func TestLastWriteFails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.pcap")
	if err := os.WriteFile(name, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := outfile.Create(context.Background(), name, outfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, "packets"); err != nil {
		t.Fatal(err)
	}
	s := New(context.Background(), Config{})
	d := &single{file: file, writer: unclosable{pcapfile.NewWriter(file, pcapfile.WriterOptions{})}, log: slog.New(slog.DiscardHandler)}
	s.outputs = []*output{{destination: d, name: name}}
	partial := filepath.Join(dir, "out.partial.pcap")
	if err := s.Commit(); !errors.Is(err, ErrOutput) || !errors.Is(err, errFull) || !strings.Contains(err.Error(), partial) {
		t.Errorf("Commit: %v", err)
	}
	for file, want := range map[string]string{name: "older", partial: "packets"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", file, got, err)
		}
	}
}
