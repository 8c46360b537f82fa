// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

const linesHeader = "value,time\n"

// linesIn returns the files of a folder by name, without their headers.
func linesIn(t *testing.T, dir string) (names []string, bodies []string) {
	t.Helper()
	all := readRotated(t, dir)
	for i, data := range all.files {
		body, ok := strings.CutPrefix(string(data), linesHeader)
		if !ok || body == "" || !strings.HasSuffix(body, "\n") {
			t.Errorf("%s is not a header and whole lines: %.40q", all.names[i], data)
		}
		bodies = append(bodies, body)
	}
	return all.names, bodies
}

// TestLines cuts by size and by time. The files hold all lines in their order.
func TestLines(t *testing.T) {
	for name, opt := range map[string]Options{
		"size": {Size: 1000}, "time": {Every: time.Minute}, "both": {Size: 1000, Every: time.Minute}, "neither": {}, "tiny": {Size: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var completed uint64
			opt.Completed = func(_ string, lines uint64) { completed += lines }
			r, err := NewLines(filepath.Join(dir, "out.csv"), []byte(linesHeader), opt)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			var all strings.Builder
			const lines = 400
			files, size, interval := 0, 0, int64(-1)
			for i := range lines {
				at := int64(i) * int64(time.Second)
				line := fmt.Sprintf("%s,%d\n", strings.Repeat("x", random.IntN(40)), at)
				all.WriteString(line)
				if err := r.Put([]byte(line), at); err != nil {
					t.Fatal(err)
				}
				// A plain model of when a file begins.
				now, limit := int64(-1), 1<<30
				if opt.Every > 0 {
					now = at / int64(opt.Every)
				}
				if opt.Size > 0 {
					limit = max(int(opt.Size), 2*len(linesHeader))
				}
				if size += len(line); files == 0 || now != interval || size > limit {
					files, size, interval = files+1, len(linesHeader)+len(line), now
				}
			}
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
			names, bodies := linesIn(t, dir)
			if got := strings.Join(bodies, ""); got != all.String() || len(names) != files || completed != lines {
				t.Errorf("%d files of %d bytes, not %d of %d; %d lines complete", len(names), len(got), files, all.Len(), completed)
			}
			if s := r.Stats(); s.Packets != lines || s.Files != uint64(files) || s.Lost != 0 || s.Bytes != uint64(all.Len()+files*len(linesHeader)) {
				t.Errorf("%+v", s)
			}
			if opt.Every > 0 && !slices.Contains(names, "out-19700101T000100.000Z.csv") {
				t.Errorf("%q", names)
			}
		})
	}
}

// TestLinesTick ends a file when the clock has passed its interval, and keeps few.
func TestLinesTick(t *testing.T) {
	dir := t.TempDir()
	r, err := NewLines(filepath.Join(dir, "out.csv"), []byte(linesHeader), Options{Every: time.Minute, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_040, 0)
	for n := range 4 {
		now := at.Add(time.Duration(n) * time.Minute)
		if err := errors.Join(r.Tick(now.Add(-time.Second)), r.Put([]byte("1,1\n"), now.UnixNano()), r.Put([]byte("2,2\n"), capture.NoTime), r.Flush(), r.Tick(now.Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
		r.waitCompleted()
		if names, bodies := linesIn(t, dir); len(names) != min(n+1, 2) || bodies[len(bodies)-1] != "1,1\n2,2\n" {
			t.Fatalf("%q %q", names, bodies)
		}
	}
	if err := errors.Join(r.Close(), r.Discard()); err != nil {
		t.Fatal(err)
	}
	if err := r.Put([]byte("x\n"), 0); !errors.Is(err, outfile.ErrClosed) {
		t.Error(err)
	}
	if _, err := NewLines("-", nil, Options{Every: time.Minute}); !errors.Is(err, ErrCannotRotate) {
		t.Error(err)
	}
}

// TestLinesFail keeps what was written before a failure under a partial name, and counts
// what was lost.
func TestLinesFail(t *testing.T) {
	dir := t.TempDir()
	r, err := NewLines(filepath.Join(dir, "out.csv"), []byte(linesHeader), Options{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Put([]byte("1,1\n"), 1), r.Flush()); err != nil {
		t.Fatal(err)
	}
	if err := r.file.out.Discard(); err != nil { // every further write fails
		t.Fatal(err)
	}
	big := []byte(strings.Repeat("x", lineBuffer) + "\n")
	if r.Put(big, 2) == nil || r.Put([]byte("3,3\n"), 3) == nil {
		t.Fatal("nothing failed")
	}
	r.Retry()
	if err := errors.Join(r.Put([]byte("4,4\n"), 4), r.Commit()); err != nil {
		t.Fatal(err)
	}
	if names, bodies := linesIn(t, dir); len(names) != 1 || bodies[0] != "4,4\n" {
		t.Errorf("%q %q", names, bodies)
	}
	if s := r.Stats(); s.Packets+s.Lost != 4 || s.Lost != 2 {
		t.Errorf("%+v", s)
	}
}
