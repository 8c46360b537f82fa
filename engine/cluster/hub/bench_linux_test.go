// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// cpuTime is the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDigests has two sites send the same packets over TCP: cpu-ns/digest is the
// time of sensors, server and slices together, in one process. Requests have batch
// digests.
func BenchmarkDigests(b *testing.B) {
	for _, c := range []struct{ slices, batch int }{{1, 1024}, {64, 1024}, {64, 128}} {
		b.Run(fmt.Sprintf("slices=%d/batch=%d", c.slices, c.batch), func(b *testing.B) {
			benchmarkDigests(b, c.slices*c.batch, func(s *Settings) { s.Slices = c.slices })
		})
	}
}

// BenchmarkChains is BenchmarkDigests with other layouts and filters, in requests of 1024.
func BenchmarkChains(b *testing.B) {
	for _, c := range []struct {
		name      string
		primitive string
		filter    string
		layout    string
		h, v      int
	}{
		{"horizontal=8/bloom", chain.TestAndSet, chain.Bloom, chain.Horizontal, 8, 1},
		{"horizontal=8/timers", chain.TestAndSet, chain.Timers, chain.Horizontal, 8, 1},
		{"vertical=4/bloom", chain.TestAndSet, chain.Bloom, chain.Vertical, 1, 4},
		{"vertical=8/bloom", chain.TestAndSet, chain.Bloom, chain.Vertical, 1, 8},
		{"vertical=4/bloom/first-test", chain.FirstTestThenSet, chain.Bloom, chain.Vertical, 1, 4},
		{"vertical=4/timers", chain.FirstTestThenSet, chain.Timers, chain.Vertical, 1, 4},
		{"hv=4,4/bloom", chain.TestAndSet, chain.Bloom, chain.HV, 4, 4},
		{"vh=2,4/bloom", chain.TestAndSet, chain.Bloom, chain.VH, 2, 4},
	} {
		b.Run(c.name, func(b *testing.B) {
			shape := chain.Shape{
				Layout: c.layout, H: c.h, V: c.v, Filter: c.filter, Hashes: 4, Bytes: 64 << 20, Primitive: c.primitive, AtLeast: 4,
			}
			if c.filter == chain.Timers {
				shape.WindowUS = 10_000
			}
			benchmarkDigests(b, 8*1024, shaped(shape))
		})
	}
}

// BenchmarkTree is BenchmarkDigests with a hub for each of the sites, below one for both. All of
// a site's digests are new to its hub, which is the worst case.
func BenchmarkTree(b *testing.B) {
	root := newLab(b, nil)
	benchmarkSensors(b, 64*1024, []*sensor{root.under("north", nil).sensor("a"), root.under("south", nil).sensor("b")})
}

// benchmarkDigests has two sites send n digests at a time.
func benchmarkDigests(b *testing.B, n int, change func(*Settings)) {
	l := newLab(b, change)
	benchmarkSensors(b, n, []*sensor{l.sensor("a"), l.sensor("b")})
}

// BenchmarkSites is BenchmarkDigests by the number of tokens, of which two or all are used. Each
// token has subscriptions to all slices.
func BenchmarkSites(b *testing.B) {
	for _, c := range []struct{ tokens, used int }{{2, 2}, {100, 2}, {100, 100}} {
		b.Run(fmt.Sprintf("tokens=%d/used=%d", c.tokens, c.used), func(b *testing.B) {
			l, begin := newLab(b, nil), cpuTime(b)
			var sensors []*sensor
			for i := range c.tokens {
				if name := fmt.Sprint("site", i); i < c.used {
					sensors = append(sensors, l.sensor(name))
				} else {
					l.token(name)
				}
			}
			joining := cpuTime(b) - begin
			benchmarkSensors(b, 2*64*1024/c.used, sensors)
			b.ReportMetric(float64(joining)/float64(c.tokens), "cpu-ns/token")
		})
	}
}

func benchmarkSensors(b *testing.B, n int, sensors []*sensor) {
	digests, times := make([]digest.Digest, n), make([]int64, n)
	begin, now := cpuTime(b), time.Now().UnixNano()
	rounds := 0
	for b.Loop() {
		rounds++
		fill(digests, times, rounds, now)
		now += int64(n) * 300
		var group sync.WaitGroup
		for _, s := range sensors {
			group.Go(func() {
				var a hubclient.Answers
				s.client.Ask(&a, digests, times, make([]uint64, (n+63)/64))
				s.client.Wait(&a)
			})
		}
		group.Wait()
	}
	all := float64(len(sensors) * n * rounds)
	b.ReportMetric(float64(cpuTime(b)-begin)/all, "cpu-ns/digest")
	b.ReportMetric(all/b.Elapsed().Seconds(), "digests/s")
}

// fill makes the digests and times of a round.
func fill(digests []digest.Digest, times []int64, round int, now int64) {
	rng := rand.New(rand.NewPCG(1, uint64(round)))
	for i := range digests {
		digests[i][0], times[i] = rng.Uint64(), now+int64(i)*300
	}
}

// BenchmarkAnswers sends the given number of digests a second, every 4 ms from one of two
// sites, and measures the time until all of them are answered: by rows, and by a chain of four
// slices. Collections are as rare as in flowdedup-hub. cpu-% is its use of two cores.
func BenchmarkAnswers(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	shape := vertical(4, chain.Bloom)
	shape.Bytes, shape.Primitive = 64<<20, chain.TestAndSet
	for _, c := range []struct {
		name   string
		change func(*Settings)
		rates  []int
	}{{"rows", nil, []int{1_000_000, 3_000_000, 7_000_000}}, {"vertical=4/bloom", shaped(shape), []int{500_000, 1_500_000}}} {
		for _, rate := range c.rates {
			b.Run(fmt.Sprintf("%s/rate=%d", c.name, rate), func(b *testing.B) { benchmarkAnswers(b, rate, c.change) })
		}
	}
}

func benchmarkAnswers(b *testing.B, rate int, change func(*Settings)) {
	l := newLab(b, change)
	sensors := []*sensor{l.sensor("a"), l.sensor("b")}
	delays := hdrhistogram.New(1, int64(time.Minute), 3)
	const every = 4 * time.Millisecond
	n := rate * int(every) / int(time.Second)
	digests, times, skip := make([]digest.Digest, n), make([]int64, n), make([]uint64, (n+63)/64)
	used, start := cpuTime(b), time.Now()
	for i := 0; b.Loop(); i++ {
		fill(digests, times, i/2, time.Now().UnixNano())
		begin := time.Now()
		var a hubclient.Answers
		sensors[i%2].client.Ask(&a, digests, times, skip)
		sensors[i%2].client.Wait(&a)
		took := time.Since(begin)
		if err := delays.RecordValue(int64(took)); err != nil {
			b.Fatal(err)
		}
		time.Sleep(every - took)
	}
	b.ReportMetric(50*float64(cpuTime(b)-used)/float64(time.Since(start)), "cpu-%")
	b.ReportMetric(float64(delays.ValueAtQuantile(50))/1e6, "p50-ms")
	b.ReportMetric(float64(delays.ValueAtQuantile(99))/1e6, "p99-ms")
}

// BenchmarkFlood has a site send a million digests a second, every 4 ms, while another one sends
// all that its token lets it send, until it is banned. ban-ms is the time until then, 0 without a
// ban. lost-% are the digests without an answer within 20 ms: before the ban, in the second
// after it, and later. Run it for some seconds (-benchtime 1500x).
func BenchmarkFlood(b *testing.B) {
	for _, slices := range []int{1, 64} {
		for _, c := range []struct{ connections, digests int }{{0, 0}, {maxConnections, 1}, {maxConnections, 1024}, {maxConnections, hubclient.MaxDigests}} {
			b.Run(fmt.Sprintf("slices=%d/connections=%d/digests=%d", slices, c.connections, c.digests), func(b *testing.B) {
				benchmarkFlood(b, slices, c.connections, c.digests)
			})
		}
	}
}

// phase counts the digests of a time, and the ones without an answer.
type phase struct {
	name      string
	lost, all int
}

func benchmarkFlood(b *testing.B, slices, connections, n int) {
	l := newLab(b, func(s *Settings) { s.Slices = slices })
	l.bans.Store(true)
	honest, attacker := l.token("honest"), l.token("attacker")
	link, unreached, err := natslink.Dial(honest, func(error) {})
	if err != nil || unreached != nil {
		b.Fatal(err, unreached)
	}
	defer link.Close()
	client := hubclient.NewClient(hubclient.ClientConfig{Token: honest, Wait: 20 * time.Millisecond}, link, "run")
	defer client.Close()
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		b.Fatal(err)
	}
	l.flood(attacker, connections, n)
	const every, batch = 4 * time.Millisecond, 4000
	digests, times, skip := make([]digest.Digest, batch), make([]int64, batch), make([]uint64, (batch+63)/64)
	delays := hdrhistogram.New(1, int64(time.Minute), 3)
	phases := []phase{{name: "before"}, {name: "second"}, {name: "later"}}
	start, ban := time.Now(), time.Time{}
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		fill(digests, times, i, begin.UnixNano())
		var a hubclient.Answers
		client.Ask(&a, digests, times, skip)
		client.Wait(&a)
		if err := delays.RecordValue(int64(time.Since(begin))); err != nil {
			b.Fatal(err)
		}
		at := &phases[0]
		if ban.IsZero() {
			ban = l.server.Bans()["attacker"].Until
		} else if at = &phases[1]; begin.After(ban) { // a first ban lasts a second
			at = &phases[2]
		}
		at.lost, at.all = at.lost+a.Unchecked, at.all+batch
		time.Sleep(every - time.Since(begin))
	}
	for _, p := range phases {
		if p.all > 0 {
			b.ReportMetric(100*float64(p.lost)/float64(p.all), "lost-%-"+p.name)
		}
	}
	if !ban.IsZero() {
		b.ReportMetric(float64(ban.Add(-shortestBan).Sub(start))/1e6, "ban-ms")
	}
	b.ReportMetric(float64(delays.ValueAtQuantile(50))/1e6, "p50-ms")
	b.ReportMetric(float64(delays.ValueAtQuantile(99))/1e6, "p99-ms")
	b.ReportMetric(float64(client.Stats().Refused), "refused")
	for _, s := range l.hub.Status().Sites {
		if s.Site == "attacker" {
			b.ReportMetric(float64(s.Digests)/b.Elapsed().Seconds(), "attacker/s")
		}
	}
}
