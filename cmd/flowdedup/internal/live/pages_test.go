package live

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestPages fills a buffer again and again, by pieces of all sizes.
func TestPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	var p pages
	for _, size := range []int{0, 1, pageSize, pageSize + 1, 3*pageSize - 1, 5} {
		p.reset()
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}
		for rest := want; len(rest) > 0; {
			n := min(len(rest), 1+rng.IntN(pageSize*3/2))
			if wrote, err := p.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		var got bytes.Buffer
		if n, err := p.WriteTo(&got); n != int64(size) || err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes: %d, %v", size, n, err)
		}
	}
	if len(p.all) != 3 {
		t.Errorf("%d pages for at most %d bytes", len(p.all), 3*pageSize-1)
	}
	full := errors.New("full")
	p.Write(make([]byte, 2*pageSize))
	if n, err := p.WriteTo(&limitedWriter{pageSize + 7, full}); !errors.Is(err, full) || n > pageSize+7 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
