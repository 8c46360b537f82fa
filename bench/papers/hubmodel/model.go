// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/zipf"
)

// config is the simulated configuration.
type config struct {
	Seed                 uint64
	Sites, Slices, Nodes int
	Cores                int     // of a node
	Bits, PacketBytes    float64 // of a site, a second; of a packet
	// Repeated is the share of packets that repeat one of Hot packets, by Zipf's law with
	// the exponent 1. Local filters remove repeats within the window.
	Repeated        float64
	Hot             int
	LocalFilter     bool
	Window          time.Duration
	Message, Digest time.Duration // cost of one at a node
	Length          time.Duration // of the run
	// Lost is the time when the first node fails, and Moved the time from then until the
	// others have its slices.
	Lost, Moved time.Duration
}

// The behavior of sites: see engine/hubclient.
const (
	thinDelay  = 5 * time.Millisecond
	wait       = 20 * time.Millisecond
	window     = 8
	breakAfter = 3
	probeEvery = 500 * time.Millisecond
)

// The size of messages without digests: the header, the words of the protocol for request
// and reply, and headers of TCP/IP.
const (
	digestBytes  = 7 + 1 // and its time
	requestBytes = 40 + 110 + 40
	replyBytes   = 32 + 60 + 40
)

// stream is a site's traffic to a slice.
type stream struct {
	site, slice int
	rate        float64       // digests a second
	path        time.Duration // one way
	flight      []time.Duration
	fails       int
	probe       time.Duration
}

// event is a request that a site has ready.
type event struct {
	at     time.Duration
	stream int
}

// events is a heap by time.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].stream < e[j].stream
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// result is the outcome.
type result struct {
	Digests, Unchecked float64       // in all
	Worst              time.Duration // the longest time with unchecked packets
	SliceLoad          []float64     // digests a second
	NodeBusy           [2][]float64  // share of the time of one core, before and after the loss
	Delay              [2][]float64  // p50, p99, p99.9 of verdicts in milliseconds, before and after
	Series             []moment
	UpBits, DownBits   float64 // a site's link
	NodeBits           float64 // to a node, before
	Removed            float64 // by local filters, share
}

// moment is the outcome of a tenth of a second.
type moment struct {
	At        float64
	P50, P99  float64 // milliseconds
	Unchecked float64 // share
}

// hub is the nodes.
type hub struct {
	cfg       *config
	owner     []int             // of slices
	sliceFree []time.Duration   // when a slice is done
	coreFree  [][]time.Duration // of nodes
	busy      [2][]time.Duration
}

func newHub(c *config) *hub {
	h := &hub{cfg: c, owner: make([]int, c.Slices), sliceFree: make([]time.Duration, c.Slices)}
	for i := range h.owner {
		h.owner[i] = i % c.Nodes
	}
	for range c.Nodes {
		h.coreFree = append(h.coreFree, make([]time.Duration, c.Cores))
	}
	h.busy = [2][]time.Duration{make([]time.Duration, c.Nodes), make([]time.Duration, c.Nodes)}
	return h
}

// ownerAt returns the node of a slice, -1 for none.
func (h *hub) ownerAt(slice int, at time.Duration) int {
	node := h.owner[slice]
	switch {
	case node != 0 || at < h.cfg.Lost:
		return node
	case at < h.cfg.Lost+h.cfg.Moved:
		return -1
	}
	return 1 + slice/h.cfg.Nodes%(h.cfg.Nodes-1)
}

// serve returns when a request that arrives is done.
func (h *hub) serve(slice, node int, arrival time.Duration, digests float64) time.Duration {
	cores := h.coreFree[node]
	core := 0
	for i := range cores {
		if cores[i] < cores[core] {
			core = i
		}
	}
	cost := h.cfg.Message + time.Duration(digests*float64(h.cfg.Digest))
	start := max(arrival, h.sliceFree[slice], cores[core])
	end := start + cost
	h.sliceFree[slice], cores[core] = end, end
	if when := phase(h.cfg, arrival); when >= 0 {
		h.busy[when][node] += cost
	}
	return end
}

// settle is the time after slices have moved that sites need to find out.
const settle = time.Second

// phase is 0 before the loss, 1 when all is settled after it, and else -1.
func phase(c *config, at time.Duration) int {
	switch {
	case at < c.Lost:
		return 0
	case at > c.Lost+c.Moved+settle:
		return 1
	}
	return -1
}

// simulate runs the model.
func simulate(c *config) result {
	rng := rand.New(rand.NewPCG(c.Seed, 40))
	weights, removed := sliceWeights(c, rng)
	streams := makeStreams(c, rng, weights, removed)
	h := newHub(c)
	var queue events
	for i := range streams {
		queue = append(queue, event{time.Duration(rng.Int64N(int64(thinDelay))) + streams[i].path, i})
	}
	heap.Init(&queue)
	r := result{Removed: removed, SliceLoad: make([]float64, c.Slices)}
	var all [2][]float64
	bins := make([]bin, int(c.Length/(100*time.Millisecond))+1)
	up, down, toNode := 0.0, 0.0, 0.0
	for len(queue) > 0 && queue[0].at < c.Length {
		s := &streams[queue[0].stream]
		arrival := queue[0].at
		queue[0].at += thinDelay
		heap.Fix(&queue, 0)
		sent := arrival - s.path
		digests := s.rate*thinDelay.Seconds() + rng.NormFloat64()*math.Sqrt(s.rate*thinDelay.Seconds())
		digests = max(digests, 0)
		r.Digests += digests
		r.SliceLoad[s.slice] += digests / c.Length.Seconds()
		b := &bins[int(sent/(100*time.Millisecond))]
		b.digests += digests
		delay, ok, onWire := s.ask(h, sent, digests)
		if onWire {
			up += 8 * (requestBytes + digestBytes*digests)
			down += 8 * (replyBytes + digests/8)
			if sent < c.Lost && h.owner[s.slice] == 0 {
				toNode += 8 * (requestBytes + digestBytes*digests)
			}
		}
		if !ok {
			r.Unchecked += digests
			b.unchecked += digests
			continue
		}
		// A digest waits for half of the time in which its request gathers.
		millis := (delay + thinDelay/2).Seconds() * 1e3
		b.delays = append(b.delays, millis)
		if when := phase(c, sent); when >= 0 {
			all[when] = append(all[when], millis)
		}
	}
	seconds, before := c.Length.Seconds(), c.Lost.Seconds()
	r.UpBits, r.DownBits = up/seconds/float64(c.Sites), down/seconds/float64(c.Sites)
	r.NodeBits = toNode / before
	for when, length := range []float64{before, seconds - (c.Lost + c.Moved + settle).Seconds()} {
		r.Delay[when] = quantiles(all[when], 0.5, 0.99, 0.999)
		for _, busy := range h.busy[when] {
			r.NodeBusy[when] = append(r.NodeBusy[when], busy.Seconds()/length)
		}
	}
	r.addSeries(bins)
	return r
}

// ask sends a request. It returns how long the verdicts took, whether they came in time, and
// whether the request was sent at all.
func (s *stream) ask(h *hub, sent time.Duration, digests float64) (delay time.Duration, ok, onWire bool) {
	s.flight = slices.DeleteFunc(s.flight, func(done time.Duration) bool { return done <= sent })
	broken := s.fails >= breakAfter
	if len(s.flight) >= window || broken && (sent < s.probe || len(s.flight) > 0) {
		return 0, false, false
	}
	node := h.ownerAt(s.slice, sent+s.path)
	done := sent + wait
	if node >= 0 {
		if back := h.serve(s.slice, node, sent+s.path, digests) + s.path; back-sent <= wait {
			s.flight, s.fails = append(s.flight, back), 0
			return back - sent, true, true
		}
	}
	s.flight = append(s.flight, done)
	s.fails++
	s.probe = sent + probeEvery
	return 0, false, true
}

// sliceWeights returns the share of the digests that each slice gets, and the share of
// packets that local filters remove. Repeated packets have few digests, and each of these
// belongs to one slice.
func sliceWeights(c *config, rng *rand.Rand) (weights []float64, removed float64) {
	const draws = 1 << 20
	weights = make([]float64, c.Slices)
	counts := make([]float64, c.Hot)
	sampler := zipf.New(c.Hot, 1)
	for range draws {
		counts[sampler.Draw(rng.Uint64())]++
	}
	// Packets of a site within a window, which a local filter reduces to one of each.
	inWindow := c.Bits / 8 / c.PacketBytes * c.Repeated * c.Window.Seconds()
	rest := 1 - c.Repeated
	for _, n := range counts {
		share := c.Repeated * n / draws
		if expected := inWindow * n / draws; c.LocalFilter && expected > 0 {
			left := share / (1 + expected)
			removed += share - left
			share = left
		}
		weights[rng.IntN(c.Slices)] += share
	}
	total := rest
	for _, w := range weights {
		total += w
	}
	for i := range weights {
		weights[i] = (weights[i] + rest/float64(c.Slices)) / total
	}
	return weights, removed
}

// makeStreams returns each site's traffic to each slice.
func makeStreams(c *config, rng *rand.Rand, weights []float64, removed float64) (all []stream) {
	for site := range c.Sites {
		path := time.Duration((0.1 + 4.9*rng.Float64()) * float64(time.Millisecond)) // within a country
		for slice, w := range weights {
			all = append(all, stream{site: site, slice: slice, path: path, rate: c.Bits / 8 / c.PacketBytes * (1 - removed) * w})
		}
	}
	return all
}

// bin is a tenth of a second.
type bin struct {
	digests, unchecked float64
	delays             []float64
}

// addSeries adds the outcome over time.
func (r *result) addSeries(bins []bin) {
	run := time.Duration(0)
	for i, b := range bins {
		if b.digests == 0 {
			continue
		}
		q := quantiles(b.delays, 0.5, 0.99)
		r.Series = append(r.Series, moment{At: float64(i) / 10, P50: q[0], P99: q[1], Unchecked: b.unchecked / b.digests})
		if run += 100 * time.Millisecond; b.unchecked == 0 {
			run = 0
		}
		r.Worst = max(r.Worst, run)
	}
}

// quantiles returns quantiles of values, which it sorts.
func quantiles(values []float64, qs ...float64) (out []float64) {
	slices.SortFunc(values, cmp.Compare)
	for _, q := range qs {
		if len(values) == 0 {
			out = append(out, 0)
			continue
		}
		out = append(out, values[min(int(q*float64(len(values))), len(values)-1)])
	}
	return out
}

// fairness is Jain's index: 1 where all have the same.
func fairness(load []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range load {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(load)) * squares)
}
