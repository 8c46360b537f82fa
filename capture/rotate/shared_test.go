package rotate

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/forge"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestSharedCapturesRotate rotates each shared capture, sound or damaged, copied and
// merged with another.
func TestSharedCapturesRotate(t *testing.T) {
	eachShared(t, func(t *testing.T, name string) {
		rotateShared(t, name, false)
		rotateShared(t, name, true)
	})
}

func rotateShared(t *testing.T, name string, merged bool) {
	t.Helper()
	open := func(chunk int) capture.Source {
		src, err := pcapfile.Open(name, pcapfile.Options{ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		if merged {
			src = pcapfile.Merge([]capture.Source{src, source(t, forge.NG(binary.BigEndian, 9).Bytes(), "other")}, nil)
		}
		return src
	}
	drop := func() func() bool { n := 0; return func() bool { n++; return n%3 == 0 } }
	whole := one(t, open(0), merged, drop())
	opt := Options{Size: max(4096, int64(len(whole)/8)), Every: time.Minute, Merged: merged}
	checkRotation(t, "rotated", func(chunk int) rotated {
		return rotate(t, open(chunk), opt, drop())
	}, opt, records(t, whole))
}

// eachShared runs a test on every shared capture of which anything can be read.
func eachShared(t *testing.T, test func(t *testing.T, name string)) {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "pcaps")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	hostile, err2 := filepath.Glob(filepath.Join(dir, "hostile", "*.pcap*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skipf("no shared captures in %s; FLOWDEDUP_SHARED names their folder", dir)
	}
	for _, name := range append(names, hostile...) {
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			continue // its header is damaged, or it is no capture
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) { test(t, name) })
	}
}
