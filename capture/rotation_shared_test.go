package capture

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestSharedCapturesRotate rotates each shared capture, sound or damaged, copied and
// merged with another.
func TestSharedCapturesRotate(t *testing.T) {
	eachShared(t, func(t *testing.T, name string) {
		src, err := Open(name, Options{})
		if err != nil {
			t.Skip(err) // its header is damaged, or it is no capture
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
		rotateShared(t, name, false)
		rotateShared(t, name, true)
	})
}

func rotateShared(t *testing.T, name string, merged bool) {
	t.Helper()
	open := func(chunk int) Source {
		src, err := Open(name, Options{ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		if merged {
			src = Merge([]Source{src, chunked(t, forgeNG(binary.BigEndian, 9).bytes(), 2048)}, nil)
		}
		return src
	}
	drop := func() func() bool { n := 0; return func() bool { n++; return n%3 == 0 } }
	whole := oneFile(t, open(0), merged, drop())
	opt := RotateOptions{Size: max(4096, int64(len(whole)/8)), Every: time.Minute, Merged: merged}
	checkRotation(t, "rotated", func(chunk int) rotated {
		return rotate(t, open(chunk), opt, drop())
	}, opt, records(t, whole))
}
