package capture

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestSharedCapturesRotate rotates each shared capture, sound or damaged, copied and
// merged with another.
func TestSharedCapturesRotate(t *testing.T) {
	dir := shared(t)
	names, err := filepath.Glob(filepath.Join(dir, "*.pcap*"))
	hostile, err2 := filepath.Glob(filepath.Join(dir, "hostile", "*.pcap*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, hostile...) {
		if src, err := Open(name, Options{}); err != nil {
			continue // its header is damaged, or it is no capture
		} else if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			rotateShared(t, name, false)
			rotateShared(t, name, true)
		})
	}
}

func rotateShared(t *testing.T, name string, merged bool) {
	t.Helper()
	open := func(chunk int) Source {
		src, err := Open(name, Options{ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		if merged {
			src = Merge([]Source{src, source(t, forgeNG(binary.BigEndian, 9).bytes(), "other")}, nil)
		}
		return src
	}
	drop := func() func() bool { n := 0; return func() bool { n++; return n%3 == 0 } }
	whole, err := trySplit(t, open(0), merged, drop())
	if err != nil {
		t.Fatal(err)
	}
	opt := RotateOptions{Size: max(4096, int64(whole.kept.Len()/8)), Every: time.Minute, Merged: merged}
	checkRotation(t, "rotated", func(chunk int) rotated {
		return rotate(t, open(chunk), opt, drop())
	}, opt, records(t, whole.kept.Bytes()))
}
