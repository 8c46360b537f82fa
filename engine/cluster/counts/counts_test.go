// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

const testKey = "0011223344556677"

// hour is the begin of a window, by its number.
func hour(n int) int64 { return time.Date(2026, 11, 22, n, 0, 0, 0, time.UTC).UnixNano() }

// now is a time after all windows.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// countsOf returns a file of a site with these words.
func countsOf(t testing.TB, site string, start int64, words []uint64, change ...countfile.Setting) []byte {
	t.Helper()
	words = slices.Compact(slices.Sorted(slices.Values(words)))
	h := countfile.Header{Sensor: site, Settings: []countfile.Setting{{Name: "of", Value: "flow"}, {Name: "every", Value: "1h0m0s"}, {Name: countfile.KeySetting, Value: testKey}}}
	for _, c := range change {
		for i := range h.Settings {
			if h.Settings[i].Name == c.Name {
				h.Settings[i] = c
			}
		}
	}
	end := start
	if start != math.MinInt64 {
		end += int64(time.Hour)
	}
	return fileOf(t, h, start, end, words)
}

// windowOf returns a file of a site with a window of any length.
func windowOf(t testing.TB, site string, start, end int64) []byte {
	t.Helper()
	return fileOf(t, countfile.Header{Sensor: site, Settings: []countfile.Setting{{Name: "of", Value: "flow"}, {Name: countfile.KeySetting, Value: testKey}}}, start, end, []uint64{1})
}

// fileOf returns a file with these words.
func fileOf(t testing.TB, h countfile.Header, start, end int64, words []uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := countfile.NewWriter(&b, h)
	if err := w.Window(countfile.Whole(start, end)); err != nil {
		t.Fatal(err)
	}
	if err := w.Series(h.Settings[0].Value, "ipv6", uint64(2*len(words)), distinct.Contents{Width: 64, Count: uint64(len(words)), Words: slices.Values(words)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// warnings collects the warnings of a store.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) Warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.text, "\n")
}

func open(t testing.TB, folder string, limit int64) (*Store, *warnings) {
	t.Helper()
	log := &warnings{}
	s, err := Open(Config{Folder: folder, Limit: limit, Key: testKey, Log: log, Settle: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, log
}

// send sends a file as a site does.
func send(s *Store, site string, start int64, file []byte) error {
	return hubclient.SendCounts(context.Background(), bytes.NewReader(file), int64(len(file)), start, func(msg []byte) ([]byte, error) {
		answer := s.Take(site, msg, now)
		if answer == nil {
			return nil, fmt.Errorf("no answer")
		}
		return answer, nil
	})
}

// settled waits until all unions are made.
func settled(t testing.TB, s *Store) {
	t.Helper()
	if !wait.For(func() bool { return s.Totals().Pending == 0 }) {
		t.Fatal("unions are never made")
	}
}

// TestUnion has sites send windows in any order, some late, twice or in two parts, and
// compares the unions with maps, also after the store was opened again.
func TestUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	folder := t.TempDir()
	s, log := open(t, folder, 1<<30)
	sites := []string{"berlin", "hamburg", "paris", "rome"}
	type key struct {
		start int64
		site  string
	}
	starts := []int64{math.MinInt64, hour(1), hour(2), hour(3), hour(4)}
	truth, has, packets := map[int64]map[uint64]bool{}, map[key]bool{}, map[int64]uint64{}
	for range 40 {
		k := key{starts[rng.IntN(len(starts))], sites[rng.IntN(len(sites))]}
		if k.site == "rome" && k.start == hour(3) {
			continue // lacks this window
		}
		words := make([]uint64, rng.IntN(6_000))
		for i := range words {
			words[i] = rand.NewPCG(rng.Uint64N(8_000), uint64(k.start)).Uint64() | 1
		}
		file := countsOf(t, k.site, k.start, words)
		for range 1 + rng.IntN(2) {
			if err := send(s, k.site, k.start, file); err != nil {
				t.Fatal(err)
			}
		}
		if truth[k.start] == nil {
			truth[k.start] = map[uint64]bool{}
		}
		for _, w := range words {
			truth[k.start][w] = true
		}
		has[k] = true
		packets[k.start] += 2 * uint64(len(slices.Compact(slices.Sorted(slices.Values(words)))))
		if rng.IntN(10) == 0 {
			settled(t, s) // later files are late
		}
	}
	check := func(s *Store) {
		t.Helper()
		settled(t, s)
		seen := 0
		for _, r := range s.Rows(100, sites) {
			if r.Family != "ipv6" {
				continue
			}
			seen++
			start := int64(math.MinInt64)
			if r.WindowStart != nil {
				start = r.WindowStart.UnixNano()
			}
			present, missing := 0, []string(nil)
			for _, site := range sites {
				if has[key{start, site}] {
					present++
				} else {
					missing = append(missing, site)
				}
			}
			if n := uint64(len(truth[start])); r.Distinct != n || r.Low != n || r.High != n || r.Packets != packets[start] {
				t.Errorf("%+v, want %d distinct of %d packets", r, n, packets[start])
			}
			if want := fmt.Sprintf("%d/4", present); r.Sensors != want || !slices.Equal(r.Missing, missing) {
				t.Errorf("sensors %s, missing %q, want %s, %q", r.Sensors, r.Missing, want, missing)
			}
		}
		if seen != len(truth) {
			t.Errorf("%d windows, want %d", seen, len(truth))
		}
	}
	check(s)
	again, _ := open(t, folder, 1<<30)
	if again.Totals().Pending != 0 {
		t.Error("unions are made again")
	}
	check(again)
	if log.all() != "" {
		t.Error(log.all())
	}
	paths, err := Files(folder, time.Time{})
	var b bytes.Buffer
	if n, err2 := Save(context.Background(), &b, "all", paths); err != nil || err2 != nil || n != len(truth) {
		t.Fatal(n, err, err2)
	}
	f, err := countfile.Open("all", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(f.Windows) != len(truth) {
		t.Fatal(err)
	}
	for i := range f.Windows {
		w := &f.Windows[i]
		m, err := countfile.Merge(context.Background(), []countfile.Part{{Series: &w.Series[0]}}, 1, false)
		if err != nil || m.Distinct != uint64(len(truth[w.Start])) || m.Packets != packets[w.Start] {
			t.Errorf("saved union of %d: %+v, %v, want %d", w.Start, m.Counts, err, len(truth[w.Start]))
		}
	}
	if late, err := Files(folder, time.Unix(0, hour(4))); err != nil || len(late) == 0 || len(late) >= len(paths) {
		t.Errorf("%d of %d files since 4:00, %v", len(late), len(paths), err)
	}
}

// TestCutRow marks the rows of a window that a site counted in part.
func TestCutRow(t *testing.T) {
	at := func(minute int) int64 { return hour(1) + int64(minute)*int64(time.Minute) }
	for _, c := range []struct {
		from, to              int
		cut, seenFrom, seenTo string
	}{
		{0, 60, "", "", ""}, {3, 60, "start", "01:03", ""}, {0, 50, "end", "", "01:50"}, {3, 50, "both", "01:03", "01:50"},
	} {
		w := countfile.Window{Span: countfile.Span{Start: at(0), End: at(60), SeenFrom: at(c.from), SeenTo: at(c.to)}}
		_, joints := countfile.Join([]*countfile.File{{Windows: []countfile.Window{w}}})
		row := rowOf(joints[0], time.UTC, "flow", "all", engine.Counts{}, 0)
		clock := func(at *time.Time) string {
			if at == nil {
				return ""
			}
			return at.Format("15:04")
		}
		if row.Cut != c.cut || clock(row.SeenFrom) != c.seenFrom || clock(row.SeenTo) != c.seenTo {
			t.Errorf("%+v: %+v", c, row)
		}
	}
}

// TestRefuses wants one reason with the remedy.
func TestRefuses(t *testing.T) {
	s, log := open(t, t.TempDir(), 1<<20)
	some := []uint64{1, 2, 3}
	if err := send(s, "a", hour(1), countsOf(t, "a", hour(1), some)); err != nil {
		t.Fatal(err)
	}
	torn := countsOf(t, "b", hour(1), some)
	for _, c := range []struct {
		start int64
		file  []byte
		want  string
	}{
		{hour(1), countsOf(t, "b", hour(1), some, countfile.Setting{Name: countfile.KeySetting, Value: "ff"}), "another --key than the hub's"},
		{hour(1), countsOf(t, "b", hour(1), some, countfile.Setting{Name: "of", Value: "src"}), "--of src"},
		{hour(1) + 5, countsOf(t, "b", hour(1)+5, some, countfile.Setting{Name: "every", Value: "2h"}), "--every 2h"},
		{hour(1), countsOf(t, "c", hour(1), some), "--sensor has to be the site's name"},
		{hour(2), countsOf(t, "b", hour(1), some), "want the one that was named"},
		{hour(1), torn[:len(torn)-5], "cut short"},
		{hour(1), []byte("text"), "not a complete file of counts"},
		{hour(99), countsOf(t, "b", hour(99), some), "check the clock"},
		{hour(1), make([]byte, 2<<20), "--counts"},
	} {
		err := send(s, "b", c.start, c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if got := s.Totals(); got.Files != 1 || got.Refused != 9 {
		t.Errorf("%+v", got)
	}
	for _, msg := range [][]byte{nil, []byte("FC"), bytes.Repeat([]byte{1}, 200_000)} {
		if answer := s.Take("b", msg, now); answer != nil {
			t.Errorf("%q is answered with %q", msg, answer)
		}
	}
	if log.all() != "" {
		t.Error(log.all())
	}
}

// TestBounded sends more than there is room for: the oldest windows go, and files
// that are older than all kept ones are refused.
func TestBounded(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	words := func() []uint64 {
		all := make([]uint64, 1000)
		for i := range all {
			all[i] = rng.Uint64() | 1
		}
		return all
	}
	s, _ := open(t, folder, 40_000)
	for n := range 20 {
		if err := send(s, "a", hour(n), countsOf(t, "a", hour(n), words())); err != nil {
			t.Fatal(n, err)
		}
		if got := s.Totals(); got.Bytes > 40_000 {
			t.Fatalf("%+v", got)
		}
	}
	if err := send(s, "a", hour(3), countsOf(t, "a", hour(3), words())); err == nil || !strings.Contains(err.Error(), "newer windows") {
		t.Error(err)
	}
	settled(t, s)
	if rows := s.Rows(1, []string{"a"}); len(rows) == 0 || rows[0].WindowStart.UnixNano() != hour(19) {
		t.Errorf("%+v", rows)
	}
	onDisk := int64(0)
	_ = filepath.Walk(folder, func(_ string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(info.Name(), ending) {
			onDisk += info.Size()
		}
		return err
	})
	if onDisk != s.Totals().Bytes {
		t.Errorf("%d bytes of files, %+v", onDisk, s.Totals())
	}
}

// TestBroken breaks transfers off, damages a file that is stored, and begins another file
// amid one.
func TestBroken(t *testing.T) {
	folder := t.TempDir()
	s, log := open(t, folder, 1<<30)
	words := make([]uint64, 100_000)
	for i := range words {
		words[i] = rand.NewPCG(uint64(i), 1).Uint64() | 1
	}
	file := countsOf(t, "a", hour(1), words)
	asked := 0
	err := hubclient.SendCounts(context.Background(), bytes.NewReader(file), int64(len(file)), hour(1), func(msg []byte) ([]byte, error) {
		if asked++; asked == 4 {
			return nil, os.ErrDeadlineExceeded
		}
		return s.Take("a", msg, now), nil
	})
	if err == nil {
		t.Fatal("not broken off")
	}
	if err := send(s, "a", hour(2), countsOf(t, "a", hour(2), words[:10])); err != nil {
		t.Fatal(err)
	}
	if err := send(s, "a", hour(1), file); err != nil {
		t.Fatal(err)
	}
	if err := send(s, "b", hour(1), countsOf(t, "b", hour(1), words[:50])); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	paths, _ := filepath.Glob(filepath.Join(folder, "*", "a.*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1000 {
			binary.LittleEndian.PutUint64(text[len(text)-500:], 0)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := send(s, "c", hour(1), countsOf(t, "c", hour(1), words[40:60])); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	for _, r := range s.Rows(10, nil) {
		if r.Family == "ipv6" && r.WindowStart.UnixNano() == hour(1) && (r.Distinct != 60 || r.Sensors != "2/2") {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(log.all(), "checksum") {
		t.Error("no warning of the damaged file: ", log.all())
	}
}
