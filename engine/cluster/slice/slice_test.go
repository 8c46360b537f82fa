// SPDX-License-Identifier: Apache-2.0

package slice

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// at is a time of the tests, in microseconds.
const at = 1_700_000_000_000_000

func newSlice(t testing.TB, window time.Duration, memory, limit int) *Slice {
	t.Helper()
	s, err := New(Config{Window: window, Memory: memory, Limit: limit, Slices: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSlice(t, s) })
	return s
}

func closeSlice(t testing.TB, s *Slice) {
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// event is a packet of a site.
type event struct {
	digest uint64
	time   int64
	site   string
}

// apply sends events in batches of one site each, and returns the verdicts.
func apply(t testing.TB, s *Slice, events []event, seqs map[string]uint64) (copies []bool) {
	t.Helper()
	for len(events) > 0 {
		n := 1
		for n < len(events) && n < 100 && events[n].site == events[0].site {
			n++
		}
		seqs[events[0].site]++
		r := batch(hubclient.TestAndSet, seqs[events[0].site], events[:n])
		bits, status := s.Apply(nil, events[0].site, r)
		if status != hubclient.OK {
			t.Fatal(status)
		}
		for i := range n {
			copies = append(copies, bits[i/8]>>(i%8)&1 == 1)
		}
		events = events[n:]
	}
	return copies
}

// batch makes a request of events, whose times are multiples of the unit.
func batch(op hubclient.Op, seq uint64, events []event) *hubclient.Request {
	r := &hubclient.Request{Op: op, Seq: seq, Times: true}
	first := events[0].time
	for _, e := range events {
		first = min(first, e.time)
	}
	r.Time = uint64(first)
	for _, e := range events {
		r.Digests = append(r.Digests, e.digest)
		r.Deltas = append(r.Deltas, int32((e.time-first)/hubclient.DeltaUnit))
	}
	return r
}

// model is the rule, with all that was ever kept.
type model struct {
	window int64
	kept   map[uint64][]event
}

func (m *model) one(e event) bool {
	for _, old := range m.kept[e.digest] {
		if old.site != e.site && max(old.time-e.time, e.time-old.time) <= m.window+hubclient.DeltaUnit {
			return true
		}
	}
	m.kept[e.digest] = append(m.kept[e.digest], e)
	return false
}

// TestModel compares a slice with the plain rule, on digests that sites share, repeat, and
// see in another order, with clocks that agree.
func TestModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, window := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond} {
		s := newSlice(t, window, 1<<23, 1<<23)
		s.clocks.window = 0 // so it learns nothing
		m := model{window: window.Microseconds(), kept: map[uint64][]event{}}
		var events []event
		now := int64(at)
		for range 50_000 {
			now += 10 * rng.Int64N(3)
			digest := rng.Uint64N(uint64(window.Microseconds()/3)) * 0x9e3779b97f4a7c15
			jitter := int64(0)
			if rng.IntN(8) == 0 { // few: the median must stay where it is
				jitter = 10 * (rng.Int64N(2*window.Microseconds()/10+1) - window.Microseconds()/10)
			}
			events = append(events, event{digest, now + jitter, fmt.Sprint("site", rng.IntN(4))})
		}
		got := apply(t, s, events, map[string]uint64{})
		for i, e := range events {
			if want := m.one(e); got[i] != want {
				t.Fatalf("window %v, event %d: copy %v, want %v", window, i, got[i], want)
			}
		}
		if st := s.Stats(); st.EvictedLive != 0 {
			t.Fatalf("window %v: %d evicted", window, st.EvictedLive)
		}
	}
}

// TestOneOfEach has two sites send the same packets in any order: each is new at one of
// them.
func TestOneOfEach(t *testing.T) {
	s := newSlice(t, time.Millisecond, 1<<12, 1<<20)
	rng := rand.New(rand.NewPCG(2, 1))
	var events []event
	for i := range int64(20_000) {
		digest := rng.Uint64()
		a, b := event{digest, at + 100*i, "a"}, event{digest, at + 100*i + 50, "b"}
		if rng.IntN(2) == 0 {
			a, b = b, a
		}
		events = append(events, a, b)
	}
	for i, isCopy := range apply(t, s, events, map[string]uint64{}) {
		if isCopy != (i%2 == 1) {
			t.Fatalf("event %d: copy %v", i, isCopy)
		}
	}
}

// TestClocks has sites whose clocks are up to seconds apart, and drift: after the first
// packets all copies are found, and the offsets equal the clocks'.
func TestClocks(t *testing.T) {
	s := newSlice(t, time.Millisecond, 1<<20, 1<<20)
	rng := rand.New(rand.NewPCG(3, 1))
	offsets := map[string]int64{"a": 0, "b": 2_345_670, "c": -4_000_000, "d": 150}
	pairs := [][2]string{{"c", "d"}, {"a", "b"}, {"b", "c"}, {"a", "d"}}
	seqs, missed := map[string]uint64{}, 0
	for i := range int64(40_000) {
		pair := pairs[i/100%4]
		now, digest := at+100*i, rng.Uint64()
		drift := i / 40 * 10 // of site b: 10 ms in 4 s
		var two []event
		for _, site := range pair {
			e := event{digest, now + offsets[site]/10*10, site}
			if site == "b" {
				e.time += drift
			}
			two = append(two, e)
		}
		if got := apply(t, s, two, seqs); got[0] || !got[1] {
			missed++
		}
	}
	if missed > 5*learnFirst {
		t.Errorf("%d copies missed", missed)
	}
	st := s.Stats()
	for _, site := range st.Sites {
		want := offsets[site.Name] - offsets[st.Sites[0].Name]
		if site.Name == "b" {
			want += 10_000
		}
		if distance(site.OffsetUS, want) > 1000 || site.Of != st.Sites[0].Name {
			t.Errorf("%+v, want an offset of %d", site, want)
		}
	}
}

// TestRepeatedRequest repeats requests after others came: the answer is the same, and
// nothing is counted again.
func TestRepeatedRequest(t *testing.T) {
	s := newSlice(t, time.Millisecond, 1<<16, 1<<16)
	rng := rand.New(rand.NewPCG(4, 1))
	type sent struct {
		site string
		r    *hubclient.Request
		bits []byte
	}
	var last []sent
	for seq := range uint64(200) {
		var events []event
		for range 100 {
			events = append(events, event{rng.Uint64N(300) * 0x9e3779b97f4a7c15, at, ""})
		}
		one := sent{site: fmt.Sprint(seq % 2), r: batch(hubclient.TestAndSet, seq, events)}
		one.bits, _ = s.Apply(nil, one.site, one.r)
		if last = append(last, one); len(last) > 8 {
			last = last[1:]
		}
		before := s.Stats()
		old := last[rng.IntN(len(last))]
		if again, _ := s.Apply(nil, old.site, old.r); !bytes.Equal(again, old.bits) {
			t.Fatalf("request %d: another answer", old.r.Seq)
		}
		after := s.Stats()
		for i := range after.Sites {
			if after.Sites[i].Copies != before.Sites[i].Copies || after.Sites[i].Digests != before.Sites[i].Digests {
				t.Fatal("counted again")
			}
		}
	}
}

// TestSaved saves a slice at several places of a stream: the restored slice answers and
// counts as the one that went on.
func TestSaved(t *testing.T) {
	s := newSlice(t, time.Millisecond, 1<<10, 1<<18)
	rng := rand.New(rand.NewPCG(5, 1))
	seqs := map[string]uint64{}
	for round := range 20 {
		var events []event
		for i := range int64(2000) {
			name := string(rune('a' + rng.IntN(3)))
			late := map[string]int64{"a": 0, "b": 70_000, "c": 30}[name]
			events = append(events, event{rng.Uint64N(5000) * 0x9e3779b97f4a7c15, at + late/10*10 + int64(round)*20_000 + 10*i, name})
		}
		data := s.Save(nil)
		twin, err := Restore(s.cfg, data)
		if err != nil {
			t.Fatal(err)
		}
		twinSeqs := map[string]uint64{}
		for k, v := range seqs {
			twinSeqs[k] = v
		}
		want, got := apply(t, s, events, seqs), apply(t, twin, events, twinSeqs)
		if fmt.Sprint(want) != fmt.Sprint(got) || !bytes.Equal(s.Save(nil), twin.Save(nil)) {
			t.Fatalf("round %d: the restored slice differs", round)
		}
		closeSlice(t, twin)
		for range 20 {
			damaged := bytes.Clone(data)
			damaged[rng.IntN(len(damaged))] ^= 1 << rng.IntN(8)
			if _, err := Restore(s.cfg, damaged[:len(damaged)-rng.IntN(2)]); err == nil {
				t.Fatal("a damaged snapshot was taken")
			}
		}
	}
	if _, err := Restore(Config{Window: time.Second, Memory: 1 << 10, Limit: 1 << 18, Slices: 1}, s.Save(nil)); err == nil {
		t.Error("a snapshot of another window was taken")
	}
}

// TestTestAndSetApart has Test change nothing, and Set remember.
func TestTestAndSetApart(t *testing.T) {
	s := newSlice(t, time.Millisecond, 1<<10, 1<<10)
	one := []event{{42, at, ""}}
	seq := uint64(0)
	ask := func(op hubclient.Op, site string) bool {
		seq++
		bits, status := s.Apply(nil, site, batch(op, seq, one))
		if status != hubclient.OK {
			t.Fatal(status)
		}
		return bits[0] == 1
	}
	if ask(hubclient.Test, "a") || ask(hubclient.Test, "b") {
		t.Error("a test remembers")
	}
	if ask(hubclient.Set, "a") || ask(hubclient.Test, "a") || !ask(hubclient.Test, "b") || !ask(hubclient.TestAndSet, "b") {
		t.Error("a set does not remember")
	}
}

// TestWildTimes fills lines from a clock that is years wrong: others lose only elements
// that the line has no room for at once.
func TestWildTimes(t *testing.T) {
	s := newSlice(t, time.Millisecond, lineBytes, lineBytes)
	seqs := map[string]uint64{}
	for i := range uint64(8) {
		apply(t, s, []event{{i + 100, at + int64(i)<<40, "wild"}}, seqs)
	}
	got := apply(t, s, []event{{1, at, "a"}, {2, at, "a"}, {1, at, "b"}, {2, at, "b"}}, seqs)
	if got[0] || got[1] || !got[2] || !got[3] {
		t.Error(got)
	}
}

// TestBad refuses requests that no slice can answer.
func TestBad(t *testing.T) {
	s := newSlice(t, time.Millisecond, lineBytes, lineBytes)
	for i := range 2 * MaxSites {
		_, status := s.Apply(nil, fmt.Sprint("site", i), batch(hubclient.TestAndSet, 1, []event{{1, at, ""}}))
		if (status == hubclient.OK) != (i < MaxSites) {
			t.Fatalf("site %d: %v", i, status)
		}
	}
	for _, r := range []*hubclient.Request{
		{Op: hubclient.TestAndSet, Time: hubclient.MaxTime + 1, Digests: []uint64{1}},
		{Op: hubclient.Chain, Time: at, Digests: []uint64{1}},
	} {
		if _, status := s.Apply(nil, "site1", r); status != hubclient.Bad {
			t.Error(status)
		}
	}
	for _, cfg := range []Config{
		{}, {Window: time.Second, Memory: 63, Limit: 64, Slices: 1}, {Window: time.Second, Memory: 128, Limit: 64, Slices: 1},
		{Window: 48 * time.Hour, Memory: 64, Limit: 64, Slices: 1}, {Window: time.Second, Memory: 64, Limit: 64},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// FuzzRestore gives any bytes as a snapshot, with their checksum.
func FuzzRestore(f *testing.F) {
	cfg := Config{Window: time.Millisecond, Memory: 1 << 7, Limit: 1 << 12, Slices: 4}
	s, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	add := func() {
		data := s.Save(nil)
		f.Add(data[:len(data)-4])
	}
	add()
	apply(f, s, []event{{1, at, "a"}, {1, at, "b"}}, map[string]uint64{})
	add()
	closeSlice(f, s)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
		if s, err := Restore(cfg, data); err == nil {
			s.Apply(nil, "c", batch(hubclient.TestAndSet, 1, []event{{1, at, ""}}))
			s.Stats()
			closeSlice(t, s)
		}
	})
}

// BenchmarkApply sends batches of two sites in turn, half of them copies.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{16, 1024} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			const slices = 64
			var all []*Slice
			for range slices {
				s, err := New(Config{Window: time.Millisecond, Memory: 2 << 20, Limit: 1 << 22, Slices: slices})
				if err != nil {
					b.Fatal(err)
				}
				defer closeSlice(b, s)
				all = append(all, s)
			}
			for _, s := range all {
				s.rows.arena.Populate(0, len(s.rows.all()))
			}
			rng := rand.New(rand.NewPCG(1, 1))
			r := &hubclient.Request{Op: hubclient.TestAndSet, Times: true, Digests: make([]uint64, n), Deltas: make([]int32, n), Time: at}
			var bits []byte
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if i%2 == 0 {
					for j := range r.Digests {
						r.Digests[j] = rng.Uint64()
					}
					r.Time += uint64(n) / 4
					r.Seq++
				}
				bits, _ = all[i/2%slices].Apply(bits[:0], [2]string{"a", "b"}[i%2], r)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/digest")
		})
	}
}
