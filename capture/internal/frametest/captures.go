// SPDX-License-Identifier: Apache-2.0

package frametest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// SharedCaptures returns the directory of captures with known answers, which are not part
// of this repository.
func SharedCaptures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("captures with known answers are not here: %v", err)
	}
	return dir
}

func ReadJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// EachBatch calls do with every readable batch of a capture. Damage ends the capture
// silently.
func EachBatch(t *testing.T, name string, do func(b *capture.Batch)) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	var damage *capture.InputError
	if errors.As(err, &damage) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) || errors.As(err, &damage) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		do(&b)
	}
}

// EachCapture calls do with every readable batch of every capture with known answers.
func EachCapture(t *testing.T, do func(b *capture.Batch)) {
	dir := SharedCaptures(t)
	names, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d captures in %s: %v", len(names), dir, err)
	}
	for _, name := range names {
		EachBatch(t, name, do)
	}
}
