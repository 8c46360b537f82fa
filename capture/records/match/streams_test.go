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

// A stream is one five-tuple, as exporters with any timeouts report it. The model knows which
// packets each record has. It shares no code with the judge.
type stream struct {
	packets []int64 // times
	out     []streamRecord
	kept []*streamRecord
}

type streamRecord struct {
	records.Record
	packets []int // indexes
}

// streamExporter has a cache with two timeouts. A record of timeout 0 has one packet.
type streamExporter struct {
	active, idle, delay, jitter int64
	sees                        func(packet int) bool
}

func (e streamExporter) String() string {
	return fmt.Sprintf("%v active, %v idle, %v late, up to %v more", time.Duration(e.active), time.Duration(e.idle), time.Duration(e.delay), time.Duration(e.jitter))
}

// report makes the records of an exporter.
func (s *stream) report(rng *rand.Rand, number int, e streamExporter) {
	var cached []int
	export := func(at int64) {
		if len(cached) == 0 {
			return
		}
		r := rec(number, client, server, 17, 0, 0)
		r.Start, r.End = s.packets[cached[0]], s.packets[cached[len(cached)-1]]
		r.Packets, r.Bytes = uint64(len(cached)), uint64(36*len(cached))
		r.Received = at + e.delay
		if e.jitter > 0 {
			r.Received += rng.Int64N(e.jitter)
		}
		r.Exported = r.Received
		s.out = append(s.out, streamRecord{r, slices.Clone(cached)})
		cached = cached[:0]
	}
	for i, now := range s.packets {
		if !e.sees(i) {
			continue
		}
		if n := len(cached); n > 0 {
			first, last := s.packets[cached[0]], s.packets[cached[n-1]]
			if now-first >= e.active || now-last > e.idle {
				export(min(first+e.active, last+e.idle))
			}
		}
		cached = append(cached, i)
		if e.active == 0 {
			export(now)
		}
	}
	if n := len(cached); n > 0 {
		export(min(s.packets[cached[0]]+e.active, s.packets[cached[n-1]]+e.idle))
	}
}

// verdict says what became of the packets.
type streamVerdict struct {
	kept, copies    int
	lost, twice     int // packets in no kept record; counts of packets beyond the first
	wrong, overseen int // copies whose first packet no kept record had; kept ones whose first packet the owner had
}

func (s *stream) judge(t testing.TB, cfg Config) (v streamVerdict) {
	slices.SortStableFunc(s.out, func(a, b streamRecord) int { return int(a.Received - b.Received) })
	var all []observed
	for i := range s.out {
		all = append(all, observed{Record: s.out[i].Record})
	}
	var kept []*streamRecord
	within := func(r *streamRecord) bool {
		return slices.ContainsFunc(kept, func(k *streamRecord) bool {
			return k.Point != r.Point && k.Start-6e8 <= r.Start && r.Start <= k.End+6e8
		})
	}
	verdicts, _ := verdictsOf(t, cfg, all, func() int { return 1 })
	seen, times := make([]bool, len(s.packets)), make([]int, len(s.packets))
	for i := range s.out {
		r := &s.out[i]
		for _, p := range r.packets {
			seen[p] = true
		}
		if verdicts[i] == records.Copy {
			v.copies++
			if !within(r) {
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
		if seen[p] && times[p] == 0 {
			v.lost++
		}
		v.twice += max(times[p]-1, 0)
	}
	s.kept = kept
	return v
}

func every(gap, length int64) (packets []int64) {
	for at := int64(0); at < length; at += gap {
		packets = append(packets, 1e18+at)
	}
	return packets
}

func all(int) bool { return true }

// long reports whether the long form of the model was asked for.
func long() bool { return os.Getenv("FLOWDEDUP_STREAMS") != "" }

// TestTimeouts has two exporters report one flow of an hour, each by its own timeouts: each
// packet counts once.
func TestTimeouts(t *testing.T) {
	timeouts := []int64{0, 1, 5, 10, 30, 60, 120, 300, 900, 1800}
	for _, gap := range []int64{1, 3, 20} {
		for _, idle := range []int64{15, 30, 60, 1800} {
			for _, a := range timeouts {
				for _, b := range timeouts {
					for _, late := range [][2]int64{{0, 1}, {1, 0}, {0, 0}, {0, 45}, {400, 0}} {
						s := &stream{packets: every(gap*sec, 3600*sec)}
						one := streamExporter{active: a * sec, idle: idle * sec, delay: late[0] * sec, sees: all}
						other := streamExporter{active: b * sec, idle: idle * sec, delay: late[1] * sec, sees: all}
						s.report(nil, 1, one)
						s.report(nil, 2, other)
						if v := s.judge(t, Config{Memory: 1 << 12}); v.lost+v.twice+v.wrong > 0 {
							t.Errorf("a packet each %ds; %v; %v: %+v", gap, one, other, v)
						}
					}
				}
			}
		}
	}
}

func TestStreams(t *testing.T) {
	var sum [3]streamVerdict
	var bad [3]int
	var packets [3]int
	rng := rand.New(rand.NewPCG(55, 1))
	timeouts := []int64{0, 0, 1, 5, 10, 30, 60, 120, 300, 900, 1800}
	idles := []int64{5, 10, 15, 30, 60, 120, 300}
	for n := range 6000 {
		partly := []int{50, 500, 2000}[n/3%3]
		kind := n % 3
		s := &stream{}
		gap := []int64{sec / 20, sec / 2, sec, 3 * sec, 20 * sec}[rng.IntN(5)]
		var parts []int
		at, part := int64(1e18), 0
		for at < 1e18+3600*sec && len(s.packets) < 5000 {
			s.packets = append(s.packets, at)
			parts = append(parts, part)
			if gap >= sec && n%2 == 0 {
				at += gap
			} else {
				at += 1 + rng.Int64N(2*gap)
			}
			if rng.IntN(100) == 0 {
				at += rng.Int64N(200 * sec)
			}
			if rng.IntN(partly) == 0 {
				part++
				if kind == 1 {
					at += 3 * sec
				}
			}
		}
		for e := range 2 + rng.IntN(2) {
			x := streamExporter{active: timeouts[rng.IntN(len(timeouts))] * sec, idle: idles[rng.IntN(len(idles))] * sec, delay: rng.Int64N(3 * sec), sees: all}
			if rng.IntN(2) == 0 {
				x.jitter = rng.Int64N(3 * sec)
			}
			switch kind {
			case 1: // flows are two: each part by one exporter
				x.sees = func(p int) bool { return parts[p]%3 == e }
			case 2: // it moves
				seed := rng.Uint64()
				x.sees = func(p int) bool { return (seed*uint64(parts[p]*2+1))>>62 != 0 }
			}
			s.report(rng, e+1, x)
		}
		v := s.judge(t, Config{Memory: 1 << 12})
		sum[kind].kept += v.kept
		sum[kind].copies += v.copies
		sum[kind].lost += v.lost
		sum[kind].twice += v.twice
		sum[kind].wrong += v.wrong
		if v.wrong > 0 {
			bad[kind]++
		}
		packets[kind] += len(s.packets)
	}
	for k := range 3 {
		t.Logf("%d: %+v bad streams %d of %d packets", k, sum[k], bad[k], packets[k])
	}
}
