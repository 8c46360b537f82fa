// SPDX-License-Identifier: Apache-2.0

package match

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

const sec = int64(time.Second)

// observed is a record with the truth about it: the flow, and times on one clock.
type observed struct {
	records.Record
	flow       int
	start, end int64
	slice      int64 // active timeout of its exporter
}

// router is an exporter as the model has it: a cache of flows with two timeouts.
type router struct {
	point            records.Point
	active, inactive int64
	skew             int64 // of its clock
	wholeSeconds     bool  // of its messages
	cache            map[int]*observed
}

func newRouter(n int, active time.Duration) *router {
	return &router{
		point:  records.Point{Exporter: netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})},
		active: int64(active), inactive: 15 * sec, cache: map[int]*observed{},
	}
}

// see takes a packet of a flow, and returns a record that it ends.
func (r *router) see(flow int, now int64, size uint64) (out []observed) {
	o := r.cache[flow]
	if o != nil && (now-o.end > r.inactive || now-o.start >= r.active) {
		out = append(out, r.export(flow, min(now, o.end+r.inactive)))
		o = nil
	}
	if o == nil {
		o = &observed{flow: flow, start: now, slice: r.active}
		r.cache[flow] = o
	}
	o.end = now
	o.Packets++
	o.Bytes += size
	return out
}

// export ends the record of a flow.
func (r *router) export(flow int, now int64) observed {
	o := *r.cache[flow]
	delete(r.cache, flow)
	o.Point = r.point
	o.Source = netip.AddrFrom4([4]byte{10, byte(flow >> 16), byte(flow >> 8), byte(flow)})
	o.Destination = netip.AddrFrom4([4]byte{10, 255, 0, 1})
	o.SourcePort, o.DestinationPort, o.Protocol = uint16(flow), 443, 6
	o.Start, o.End, o.Exported, o.Received = o.start+r.skew, o.end+r.skew, now+r.skew, now
	if r.wholeSeconds {
		o.Exported = o.Exported / sec * sec
	}
	return o
}

// world makes records.
type world struct {
	rng     *rand.Rand
	routers []*router
	loss    float64
	// waits returns for how long a record that came waits for its template; nil is not.
	waits func(o *observed) int64
	// path returns which routers see a packet of a flow that began at a time.
	path  func(flow int, began, now int64) []*router
	out   []observed
	truth map[int]uint64 // bytes of flows
}

type packetEvent struct {
	at, began int64
	flow      int
	size      uint64
}

// run makes flows of random length for a while.
func (w *world) run(flows int, length time.Duration) {
	var packets []packetEvent
	w.truth = map[int]uint64{}
	for flow := range flows {
		began := 1e18 + w.rng.Int64N(int64(length))
		lasts := []int64{0, sec / 10, 5 * sec, 100 * sec, int64(length)}[w.rng.IntN(5)]
		pause := []int64{sec / 20, sec / 5, sec / 2}[w.rng.IntN(3)]
		for at := began; at <= began+lasts && at < 1e18+int64(length); at += 1 + w.rng.Int64N(2*pause) {
			packets = append(packets, packetEvent{at, began, flow, 60 + w.rng.Uint64N(1400)})
		}
	}
	slices.SortFunc(packets, func(a, b packetEvent) int { return int(a.at - b.at) })
	for _, p := range packets {
		w.truth[p.flow] += p.size
		for i, r := range w.path(p.flow, p.began, p.at) {
			w.send(r.see(p.flow, p.at+int64(i)*3e6, p.size))
		}
	}
	for _, r := range w.routers {
		for _, flow := range slices.Sorted(maps.Keys(r.cache)) {
			w.send([]observed{r.export(flow, r.cache[flow].end+r.inactive)})
		}
	}
	slices.SortStableFunc(w.out, func(a, b observed) int { return int(a.Received - b.Received) })
	if w.waits != nil {
		slices.SortStableFunc(w.out, func(a, b observed) int { return int(a.Received + w.waits(&a) - b.Received - w.waits(&b)) })
	}
}

// send delivers records after some time, or loses them.
func (w *world) send(all []observed) {
	for _, o := range all {
		if w.rng.Float64() < w.loss {
			continue
		}
		o.Received += w.rng.Int64N(sec / 2)
		w.out = append(w.out, o)
	}
}

// verdictsOf judges all, some at a time.
func verdictsOf(t testing.TB, cfg Config, all []observed, cut func() int) ([]records.Verdict, *Judge) {
	cfg.Memory = max(cfg.Memory, 1<<20)
	j := newJudge(t, cfg)
	var verdicts []records.Verdict
	for from := 0; from < len(all); {
		to := min(from+cut(), len(all))
		var b records.Batch
		for i := range all[from:to] {
			b.Records = append(b.Records, all[from+i].Record)
		}
		v, _ := j.Judge(&b)
		verdicts = append(verdicts, v...)
		from = to
	}
	return verdicts, j
}

// result is what became of the records of a world.
type result struct {
	records, kept, lost, unchecked int
	// flowsLost are flows of which records came and none was kept.
	flowsLost int
	// sum is by how much the bytes that were kept differ from the bytes of the packets.
	sum float64
}

// check says what became of records. A removed record is lost if no kept record of a different point
// reports the flow around that time.
func (w *world) check(verdicts []records.Verdict, slack int64) (r result) {
	kept := map[int][]*observed{}
	known := map[int]bool{}
	bytes := map[int]uint64{}
	var total, all uint64
	for i := range w.out {
		o := &w.out[i]
		known[o.flow] = true
		switch r.records++; verdicts[i] {
		case records.Copy:
			continue
		case records.Unchecked:
			r.unchecked++
		}
		r.kept++
		kept[o.flow] = append(kept[o.flow], o)
		bytes[o.flow] += o.Bytes
		total += o.Bytes
	}
	for i := range w.out {
		o := &w.out[i]
		if verdicts[i] == records.Copy && !slices.ContainsFunc(kept[o.flow], func(k *observed) bool {
			return k.Point != o.Point && k.start-slack <= o.end && o.start <= k.end+slack
		}) {
			r.lost++
		}
	}
	for flow := range known {
		if len(kept[flow]) == 0 {
			r.flowsLost++
		}
		all += w.truth[flow]
	}
	r.sum = float64(total)/float64(all) - 1
	return r
}

func whole() int { return 1 << 30 }

// TestOwner runs the policy in worlds of several routers.
func TestOwner(t *testing.T) {
	for _, active := range []time.Duration{time.Second, time.Minute, 5 * time.Minute} {
		for name, c := range map[string]struct {
			setup func(w *world)
			// most is how far the bytes may be off
			most float64
		}{
			"one alone": {func(w *world) { w.routers = w.routers[:1] }, 0},
			"plain":     {func(*world) {}, 0.01},
			"skew":      {func(w *world) { w.routers[0].skew, w.routers[1].skew = 5*sec, -5*sec }, 0.01},
			"loss":      {func(w *world) { w.loss = 0.01 }, 0.05},
			"whole second": {func(w *world) {
				w.routers[0].wholeSeconds, w.routers[1].wholeSeconds = true, true
				w.routers[0].skew = 5 * sec
			}, 0.01},
			"template late": {func(w *world) { // of one at first, of another after a restart
				w.waits = func(o *observed) int64 {
					for i, began := range []int64{1e18, 1e18 + 300*sec} {
						if came := o.Received - began; o.Point == w.routers[i].point && came >= 0 && came < 90*sec {
							return 90*sec - came
						}
					}
					return 0
				}
			}, 0.2}, // reports before the last pause of a flow are not remembered
			"mixed": {func(w *world) {
				for i, r := range w.routers {
					r.active = []int64{1, 60, 300}[i%3] * sec
				}
			}, 0.05},
			"reroute": {func(w *world) {
				w.path = func(_ int, began, now int64) []*router {
					if now < 1e18+200*sec {
						return w.routers[:2]
					}
					return w.routers[2:]
				}
			}, 0.02},
			"reroute each": {func(w *world) {
				w.path = func(_ int, began, now int64) []*router {
					if now-began < 40*sec {
						return w.routers[:2]
					}
					return w.routers[1:]
				}
			}, 0.2}, // the record that outlasts the first owner stays whole
			"restart": {func(w *world) { // and its clock is set
				w.path = func(_ int, _, now int64) []*router {
					if r := w.routers[1]; now > 1e18+300*sec && r.skew == 0 {
						clear(r.cache)
						r.skew = -3600 * sec
					}
					return w.routers
				}
			}, 0.15},
		} {
			t.Run(name+" "+active.String(), func(t *testing.T) {
				w := &world{rng: rand.New(rand.NewPCG(1, uint64(active)))}
				for n := range 3 {
					w.routers = append(w.routers, newRouter(n+1, active))
				}
				w.path = func(int, int64, int64) []*router { return w.routers }
				c.setup(w)
				flows := 300
				if testing.Short() {
					flows, c.most = 15, 2*c.most // few flows weigh more
				}
				w.run(flows, 10*time.Minute)
				verdicts, _ := verdictsOf(t, Config{}, w.out, whole)
				r := w.check(verdicts, sec)
				if r.lost+r.flowsLost+r.unchecked != 0 || r.sum < -c.most || r.sum > c.most {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}
