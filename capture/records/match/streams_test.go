// SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// stream is a five-tuple whose packets exporters of any kind see. The model knows the packets
// of each record, and shares no code with the judge.
type stream struct {
	packets []int64 // times
	part    []int   // of each packet
	out     []streamRecord
}

type streamRecord struct {
	records.Record
	packets []int // indexes
}

// streamExporter is a cache with two timeouts. Without an active timeout each packet is a record.
type streamExporter struct {
	active, idle, delay, jitter int64
	sees                        func(part int) bool
}

func (e streamExporter) String() string {
	return fmt.Sprintf("%v active, %v idle, %v late, up to %v more", time.Duration(e.active), time.Duration(e.idle), time.Duration(e.delay), time.Duration(e.jitter))
}

func all(int) bool { return true }

// add adds packets that are about a gap apart until n are there or the time is over.
func (s *stream) add(part int, from, until int64, n int, gap func() int64) (last int64) {
	for at := from; at < until && n > 0; n-- {
		s.packets, s.part = append(s.packets, at), append(s.part, part)
		last, at = at, at+gap()
	}
	return last
}

// report makes the records of an exporter.
func (s *stream) report(rng *rand.Rand, number int, e streamExporter) {
	var cached []int
	first := func() int64 { return s.packets[cached[0]] }
	last := func() int64 { return s.packets[cached[len(cached)-1]] }
	export := func(at int64) {
		r := rec(number, client, server, 17, 0, 0)
		r.Start, r.End = first(), last()
		r.Packets, r.Bytes = uint64(len(cached)), uint64(36*len(cached))
		r.Received = at + e.delay + rng.Int64N(e.jitter+1)
		r.Exported = r.Received
		s.out = append(s.out, streamRecord{r, slices.Clone(cached)})
		cached = cached[:0]
	}
	timeout := func() int64 { return min(first()+e.active, last()+e.idle) }
	for i, now := range s.packets {
		if !e.sees(s.part[i]) {
			continue
		}
		if len(cached) > 0 && (now-first() >= e.active || now-last() > e.idle) {
			export(timeout())
		}
		if cached = append(cached, i); e.active == 0 {
			export(now)
		}
	}
	if len(cached) > 0 {
		export(timeout())
	}
}

// streamResult is what became of the packets of streams.
type streamResult struct {
	packets, kept, copies int
	// lost counts packets in no kept record, twice the packets in a further kept record.
	lost, twice int
	// wrong counts copies that begin when no kept record of another exporter lasted.
	wrong int
}

func (r *streamResult) add(o streamResult) {
	r.packets, r.kept, r.copies = r.packets+o.packets, r.kept+o.kept, r.copies+o.copies
	r.lost, r.twice, r.wrong = r.lost+o.lost, r.twice+o.twice, r.wrong+o.wrong
}

// judge judges the records in the order in which they come.
func (s *stream) judge(t testing.TB) (v streamResult) {
	slices.SortStableFunc(s.out, func(a, b streamRecord) int { return int(a.Received - b.Received) })
	var b records.Batch
	for i := range s.out {
		b.Records = append(b.Records, s.out[i].Record)
	}
	j, err := New(Config{Memory: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	verdicts, _ := j.Judge(&b)
	var kept []*streamRecord
	reported, times := make([]bool, len(s.packets)), make([]int, len(s.packets))
	for i := range s.out {
		r := &s.out[i]
		for _, p := range r.packets {
			reported[p] = true
		}
		if verdicts[i] == records.Copy {
			v.copies++
			if !slices.ContainsFunc(kept, func(k *streamRecord) bool {
				const within = 6e8 // the judge's tolerance, and its unit of time
				return k.Point != r.Point && k.Start-within <= r.Start && r.Start <= k.End+within
			}) {
				v.wrong++
			}
			continue
		}
		v.kept++
		kept = append(kept, r)
		for _, p := range r.packets {
			times[p]++
		}
	}
	for p := range times {
		if reported[p] {
			v.packets++
			if times[p] == 0 {
				v.lost++
			}
			v.twice += max(times[p]-1, 0)
		}
	}
	return v
}

// streamsOf returns how many streams are judged, more in the long form.
func streamsOf(t *testing.T, usual, long int) int {
	switch {
	case os.Getenv("FLOWDEDUP_STREAMS") == "long":
		return long
	case testing.Short():
		return usual / 4
	}
	return usual
}

// TestTimeouts has two exporters report a flow of an hour, each by its own timeouts and with its
// own delay. Each packet counts once.
func TestTimeouts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 55))
	timeouts := []int64{0, 1, 5, 10, 30, 60, 120, 300, 900, 1800}
	delays := [][2]int64{{0, 1}, {1, 0}, {0, 0}, {0, 45}, {400, 0}}
	var streams [][6]int64
	for _, gap := range []int64{1, 3, 20} {
		for _, idle := range []int64{15, 30, 60, 1800} {
			for _, one := range timeouts {
				for _, other := range timeouts {
					for _, late := range delays {
						streams = append(streams, [6]int64{gap, idle, one, other, late[0], late[1]})
					}
				}
			}
		}
	}
	rng.Shuffle(len(streams), func(i, j int) { streams[i], streams[j] = streams[j], streams[i] })
	for _, c := range streams[:streamsOf(t, 400, len(streams))] {
		s := &stream{}
		s.add(0, 1e18, 1e18+3600*sec, 3600, func() int64 { return c[0] * sec })
		one := streamExporter{active: c[2] * sec, idle: c[1] * sec, delay: c[4] * sec, sees: all}
		other := streamExporter{active: c[3] * sec, idle: c[1] * sec, delay: c[5] * sec, sees: all}
		s.report(rng, 1, one)
		s.report(rng, 2, other)
		if v := s.judge(t); v.lost+v.twice > 0 || v.packets != len(s.packets) {
			t.Errorf("a packet each %d s; %v; %v: %+v", c[0], one, other, v)
		}
	}
}

// TestStreams has random exporters report random flows. What no other exporter saw is never
// taken for a copy, but for the share of packets that times leave in doubt.
func TestStreams(t *testing.T) {
	for name, c := range map[string]struct {
		parts int // of a flow, with a pause after each
		sees  func(rng *rand.Rand, exporter int) func(part int) bool
		// lost and twice are the largest shares of packets, wrong is of copies. If all copies are
		// wrong, one in 2,000 streams may have copies: a pause as long as the pause between the
		// flows takes its place.
		lost, wrong, twice float64
	}{
		"two flows": {2, func(_ *rand.Rand, exporter int) func(int) bool {
			return func(part int) bool { return part == exporter }
		}, 0.00001, 1, 0},
		"one flow": {8, func(*rand.Rand, int) func(int) bool { return all }, 0.0001, 0.001, 0.1},
		"moves": {4, func(rng *rand.Rand, _ int) func(int) bool {
			sees := 1 + rng.IntN(15)
			return func(part int) bool { return sees>>part&1 != 0 }
		}, 0.02, 0.01, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(55, 1))
			pick := func(from ...int64) int64 { return from[rng.IntN(len(from))] * sec }
			var sum streamResult
			streams := streamsOf(t, 400, 6000)
			for range streams {
				s := &stream{}
				gap, at := []int64{sec / 20, sec / 2, sec, 3 * sec, 20 * sec}[rng.IntN(5)], int64(1e18)
				for part := range c.parts {
					at = s.add(part, at, 1<<62, 1+rng.IntN(200), func() int64 { return 1 + rng.Int64N(2*gap) })
					at += 2*sec + rng.Int64N(100*sec)
				}
				for n := range 2 {
					e := streamExporter{
						active: pick(0, 0, 1, 5, 10, 30, 60, 120, 300, 900, 1800), idle: pick(5, 10, 15, 30, 60, 120, 300),
						delay: rng.Int64N(3 * sec), jitter: rng.Int64N(sec), sees: c.sees(rng, n),
					}
					s.report(rng, n+1, e)
				}
				sum.add(s.judge(t))
			}
			if c.wrong == 1 && sum.copies > streams/2000 {
				t.Errorf("%d of %d streams", sum.copies, streams)
			}
			t.Logf("%+v", sum)
			if float64(sum.lost) > c.lost*float64(sum.packets) || float64(sum.wrong) > c.wrong*float64(sum.copies) || float64(sum.twice) > c.twice*float64(sum.packets) {
				t.Errorf("%+v, want shares of at most %v lost, %v wrong, %v twice", sum, c.lost, c.wrong, c.twice)
			}
		})
	}
}
