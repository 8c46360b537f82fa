// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
)

// readReserved drains src with flight batches in flight, whose chunks are read on goroutines
// of their own, in no order.
func readReserved(t *testing.T, src capture.Preloader, flight int) whole {
	t.Helper()
	batches := make([]capture.Batch, flight)
	var w whole
	for {
		var reading sync.WaitGroup
		for i := range batches {
			src.Reserve(&batches[i])
		}
		for _, i := range rand.Perm(flight) {
			reading.Go(func() { src.ReadReserved(&batches[i]) })
		}
		reading.Wait()
		for i := range batches {
			b := &batches[i]
			err := src.Next(b)
			w.ifaces, w.secs = b.Interfaces, b.Sections
			if err != nil {
				if err != io.EOF {
					w.err = err
				}
				return w
			}
			w.add(t, b)
		}
	}
}

// inFiles calls test with every sample in a file, and with what all of it is.
func inFiles(t *testing.T, test func(t *testing.T, path string, want func() whole)) {
	files := samples()
	files["long records"] = longRecords(12, 150<<10)
	files["hole"] = slices.Concat(files["small"], make([]byte, 300<<10), files["small"][24:])
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			test(t, path, func() whole {
				src, err := NewReader(bytes.NewReader(data), path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				return readAll(t, src)
			})
		})
	}
}

// longRecords is a pcap of records of up to the given size.
func longRecords(n, most int) []byte {
	data := packets64(capture.FormatPcap, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		size := rng.IntN(most)
		head := le.AppendUint32(le.AppendUint32(nil, uint32(i)), 0)
		head = le.AppendUint32(le.AppendUint32(head, uint32(size)), uint32(size))
		data = append(append(data, head...), bytes.Repeat([]byte{byte(i)}, size)...)
	}
	return data
}

// TestReserve reads files in chunks, which must change nothing.
func TestReserve(t *testing.T) {
	inFiles(t, func(t *testing.T, path string, want func() whole) {
		for _, chunk := range []int{1, 100, 5000, 70 << 10, DefaultChunkSize} {
			if info, err := os.Stat(path); err != nil || info.Size() > int64(chunk)*20_000 {
				continue // more reads than the test is worth
			}
			for _, flight := range []int{1, 2, 9} {
				src, err := Open(path, Options{ChunkSize: chunk})
				if err != nil {
					t.Fatal(err)
				}
				got := readReserved(t, src.(capture.Preloader), flight)
				if err := src.Close(); err != nil {
					t.Error(err)
				}
				equal(t, got, want())
			}
		}
	})
}

// TestReserveStream reserves chunks of what cannot be read in chunks.
func TestReserveStream(t *testing.T) {
	data := packets64(capture.FormatPcapNG, 3000)
	src := open(t, packers["gzip"](t, data), Options{})
	equal(t, readReserved(t, src.(capture.Preloader), 3), readAll(t, open(t, data, Options{})))
}

// TestReserveTruncated truncates a file between Reserve and ReadReserved.
func TestReserveTruncated(t *testing.T) {
	data := packets64(capture.FormatPcap, 4000)
	for _, left := range []int{compressed.HeadSize, compressed.HeadSize + 1, 100_000, len(data) - 1} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(left))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := Open(path, Options{ChunkSize: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		batches := make([]capture.Batch, len(data)/10_000+2)
		for i := range batches {
			src.(capture.Preloader).Reserve(&batches[i])
		}
		if err := os.Truncate(path, int64(left)); err != nil {
			t.Fatal(err)
		}
		var w whole
		for i := range batches {
			src.(capture.Preloader).ReadReserved(&batches[i])
			if w.err = src.Next(&batches[i]); w.err != nil {
				break
			}
			w.add(t, &batches[i])
		}
		e := inputError(t, w.err)
		if text := fmt.Sprintf("it had %d bytes, and nothing is left after %d", len(data), left); !bytes.Contains([]byte(e.Error()), []byte(text)) {
			t.Errorf("%d left: %v, want %q", left, e, text)
		}
		if n := (left - 24) / 80; len(w.packets) != n {
			t.Errorf("%d left: %d packets, want %d", left, len(w.packets), n)
		}
		src.Close()
	}
}
