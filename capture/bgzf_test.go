package capture

import (
	"bufio"
	"bytes"
	standard "compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// bgzf compresses data in the way of our outputs, in writes of so many bytes.
func bgzf(t testing.TB, data []byte, workers, step int) []byte {
	t.Helper()
	return pack(t, nil, func(w io.Writer) (io.WriteCloser, error) {
		z, err := newBgzfWriter(w, workers)
		for rest := data; err == nil && len(rest) > 0; {
			n := min(step, len(rest))
			_, err = z.Write(rest[:n])
			rest = rest[n:]
		}
		return z, err
	})
}

// unbgzf reads with our reader of members, whatever data is.
func unbgzf(data []byte) ([]byte, error) {
	r := newBgzfReader(bufio.NewReaderSize(bytes.NewReader(data), compressedBuffer), 3)
	defer r.close()
	return io.ReadAll(r)
}

// ungzip reads as what is not BGZF is read.
func ungzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// mixed is n bytes of which a part does not compress.
func mixed(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i / 1000)
		if i/bgzfData%2 == 1 {
			data[i] = byte(random.Uint32())
		}
	}
	return data
}

func TestBgzf(t *testing.T) {
	sizes := []int{0, 1, bgzfData - 1, bgzfData, bgzfData + 1, 2 * bgzfData, bgzfPiece - 1, bgzfPiece, bgzfPiece + 1, 5*bgzfPiece + 7}
	for _, n := range sizes {
		data := mixed(n)
		want := bgzf(t, data, 1, 1<<16)
		for _, workers := range []int{1, 2, 8} {
			for _, step := range []int{9999, bgzfPiece, n + 1} {
				if !bytes.Equal(bgzf(t, data, workers, step), want) {
					t.Errorf("%d bytes: other bytes with %d workers and writes of %d", n, workers, step)
				}
			}
		}
		if got, err := unbgzf(want); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: read %d, %v", n, len(got), err)
		}
		if r, err := standard.NewReader(bytes.NewReader(want)); err != nil {
			t.Errorf("%d bytes: %v for the standard library", n, err)
		} else if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: the standard library reads %d, %v", n, len(got), err)
		}
		for rest := want; len(rest) > 0; {
			m, ok := bgzfMember(rest)
			if !ok || m > len(rest) || le.Uint32(rest[m-4:]) > bgzfData {
				t.Fatalf("%d bytes: a member of %d, %v", n, m, ok)
			}
			rest = rest[m:]
		}
	}
}

// TestBgzfMixed has members of both kinds in any order, and what is none.
func TestBgzfMixed(t *testing.T) {
	data := mixed(3 * bgzfData)
	a, b := bgzf(t, data, 2, 1<<16), packers["gzip"](t, data)
	long := bytes.Clone(bgzf(t, data[:100], 1, 100))
	le.PutUint32(long[len(long)-len(bgzfEnd)-4:], bgzfMaxData+1)
	for name, packed := range map[string][]byte{
		"both":         bytes.Join([][]byte{a, b}, nil),
		"in turn":      bytes.Join([][]byte{a, b, a, b}, nil),
		"rubbish":      append(bytes.Clone(a), "rubbish that follows"...),
		"one byte":     append(bytes.Clone(a), 0x1f),
		"header alone": append(bytes.Clone(a), bgzfHeader...),
		"too long":     append(bytes.Clone(a), long...),
	} {
		want, wantErr := ungzip(packed)
		got, err := unbgzf(packed)
		if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %d bytes, %v; want %d, %v", name, len(got), err, len(want), wantErr)
		}
	}
}

// TestBgzfCut wants what an ordinary reader gets of a stream that breaks off.
func TestBgzfCut(t *testing.T) {
	packed := bgzf(t, mixed(4*bgzfData), 2, 1<<16)
	for n := 1; n < len(packed); n += max(1, min(n, len(packed)-n)/7) {
		want, wantErr := ungzip(packed[:n])
		got, err := unbgzf(packed[:n])
		if !bytes.Equal(got, want) || err != wantErr {
			t.Errorf("%d of %d bytes: %d, %v; want %d, %v", n, len(packed), len(got), err, len(want), wantErr)
		}
	}
}

// TestBgzfDamage changes every bit of the headers and trailers, and some of the
// others: what an ordinary reader finds damaged is found, and nothing made up.
func TestBgzfDamage(t *testing.T) {
	data := mixed(2*bgzfData + 100)
	packed := bgzf(t, data, 1, 1<<16)
	var near []int // bytes from the start of each member
	for at := 0; at < len(packed); {
		n, _ := bgzfMember(packed[at:])
		for i := range min(n, 18) {
			near = append(near, at+i, at+n/2, at+n-1-i)
		}
		at += n
	}
	for _, at := range near {
		for bit := range 8 {
			bad := bytes.Clone(packed)
			bad[at] ^= 1 << bit
			_, wantErr := ungzip(bad)
			got, err := unbgzf(bad)
			if err == nil && wantErr != nil {
				t.Errorf("bit %d of byte %d: no error, want %v", bit, at, wantErr)
			}
			if err == nil && !bytes.Equal(got, data) {
				t.Errorf("bit %d of byte %d: other content", bit, at)
			}
		}
	}
}

// FuzzBgzf wants what an ordinary reader gets, or an error: headers may say that a
// member ends where it does not.
func FuzzBgzf(f *testing.F) {
	packed := bgzf(f, mixed(bgzfData+100), 1, 1<<16)
	f.Add(packed)
	f.Add(packed[:len(packed)-40])
	f.Add(append(bgzf(f, []byte("text"), 1, 4), packers["gzip"](f, []byte("text"))...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !isBgzf(data) {
			t.Skip()
		}
		got, err := unbgzf(data)
		want, wantErr := ungzip(data)
		if err == nil && (wantErr != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d bytes, want %d, %v", len(got), len(want), wantErr)
		}
	})
}

// TestBgzfIsLive hands out a member before the next one has begun.
func TestBgzfIsLive(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	r := newBgzfReader(bufio.NewReaderSize(pr, compressedBuffer), 2)
	defer r.close()
	for i := range 3 {
		want := mixed(1000 + i)
		if _, err := pw.Write(bgzf(t, want, 1, 1<<16)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("member %d: %v", i, err)
		}
	}
	pw.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// TestBgzfCapture opens captures by their content, and leaves nothing running.
func TestBgzfCapture(t *testing.T) {
	data := packets64(FormatPcap, 100_000)
	want := readAll(t, open(t, data, Options{}))
	packed := bgzf(t, data, 2, 1<<16)
	bad := bytes.Clone(packed)
	bad[len(bad)-len(bgzfEnd)-1] ^= 1
	before := runtime.NumGoroutine()
	equal(t, readAll(t, open(t, packed, Options{})), want)
	w := readAll(t, open(t, bad, Options{}))
	if e := inputError(t, w.err); !errors.Is(e, ErrDamaged) || len(w.packets) < 99_000 || e.Header {
		t.Errorf("%d packets, %v", len(w.packets), e)
	}
	path := filepath.Join(t.TempDir(), "packed")
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := errors.Join(src.Next(&b), src.Close()); err != nil {
		t.Error(err)
	}
	waitForGoroutines(t, before)
}

func BenchmarkBgzf(b *testing.B) {
	data := packets64(FormatPcap, 100_000)
	packed := bgzf(b, data, 2, 1<<18)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			bgzf(b, data, packWorkers(), 1<<18)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r := newBgzfReader(bufio.NewReaderSize(bytes.NewReader(packed), compressedBuffer), packWorkers())
			if n, err := io.Copy(io.Discard, r); n != int64(len(data)) || err != nil {
				b.Fatal(n, err)
			}
			r.close()
		}
	})
}
