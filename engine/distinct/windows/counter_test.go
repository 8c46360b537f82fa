// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
	"github.com/flowdedup/flowdedup/engine/sliding"
)

// packet is a packet of a test's stream: a time and the number of a flow, which implies
// the number of a host.
type packet struct {
	time int64
	flow uint32
}

func (p packet) host() uint32 { return p.flow / 8 }

// hostAndFlow are the keys of packets: bare addresses and digests.
var hostAndFlow = []Key{{Name: "host", PerPacket: 1}, {Name: "flow", PerPacket: 1}}

// newPackets makes packets of ever more flows, from a time on, out of order by up to a
// minute. Each ninth has no time.
func newPackets(n int, begin int64, each time.Duration) []packet {
	rng := rand.New(rand.NewPCG(5, 6))
	packets := make([]packet, n)
	for i := range packets {
		packets[i] = packet{begin + int64(i)*int64(each) - rng.Int64N(int64(time.Minute)), rng.Uint32N(uint32(2 + i/4))}
		if i%9 == 0 {
			packets[i].time = noTime
		}
	}
	return packets
}

// fill adds the elements of packets to a batch.
func fill(b *Batch, packets []packet) {
	times := make([]int64, len(packets))
	for i, p := range packets {
		times[i] = p.time
	}
	b.Reset(times)
	add := func(keys []int, numbers []uint32) {
		for _, key := range keys {
			name := b.counter.cfg.Keys[key].Name
			if name == "host" {
				for i, items := 0, b.Elements(key).Addr4.Add(numbers, 0); i < len(items); i++ {
					items[i] = packets[numbers[i]].host()
				}
				continue
			}
			for i, items := 0, b.Elements(key).V4.Add(numbers, 0); i < len(items); i++ {
				flow := uint64(packets[numbers[i]].flow)
				if name == "pair" {
					flow /= 2
				}
				items[i] = digest.Digest{rand.NewPCG(flow, 1).Uint64(), flow}
			}
		}
	}
	b.Key = func(key int, _ SeriesID, number int) (k top.Key) {
		binary.BigEndian.PutUint32(k[:], []uint32{packets[number].host(), packets[number].flow}[key])
		return k
	}
	b.Bytes = func(number uint32) uint64 { return lengthOf(packets[number]) }
	add(b.Direct(), upTo(len(packets)))
	b.Derive = func(group int, v4, _ []uint32) { add(b.Derived()[group].Keys, v4) }
}

// upTo returns the numbers below n.
func upTo(n int) []uint32 {
	numbers := make([]uint32, n)
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	return numbers
}

// run counts packets in batches of random sizes. If requested, another Counter goes on in
// the middle. It returns the emitted counts, and the past at the end.
func run(t *testing.T, cfg Config, packets []packet, saved bool) (emitted []string, past []Count) {
	t.Helper()
	return runCut(t, cfg, packets, saved, 200)
}

// runCut is run with batches of at most the given number of packets.
func runCut(t *testing.T, cfg Config, packets []packet, saved bool, longest int) (emitted []string, past []Count) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	cfg.Emit = func(start, end int64, counts []Count) error {
		for _, c := range counts {
			c.FPR = 0 // higher where elements are implied
			emitted = append(emitted, fmt.Sprintf("%d to %d: %+v", start, end, c))
		}
		return nil
	}
	if cfg.Total != nil {
		cfg.Total = cfg.Emit
	}
	c := New(&cfg)
	for at := 0; at < len(packets); {
		n := min(1+rng.IntN(longest), len(packets)-at)
		b := c.NewBatch()
		fill(b, packets[at:at+n])
		if err := c.Count(b, nil); err != nil {
			t.Fatal(err)
		}
		if at += n; saved && at >= len(packets)/2 {
			c, saved = moved(t, c, cfg), false
		}
	}
	past = c.Past(packets[len(packets)-1].time)
	if err := c.Close(); err != nil || c.Packets() == 0 {
		t.Fatalf("%d packets, %v", c.Packets(), err)
	}
	return emitted, past
}

// TestEmitNothing counts, for the whole stream only, what hours would count.
func TestEmitNothing(t *testing.T) {
	packets := newPackets(1000, 0, time.Minute)
	var total, again []Count
	count := func(cfg Config) {
		c := New(&cfg)
		b := c.NewBatch()
		fill(b, packets)
		if err := errors.Join(c.Count(b, nil), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	cfg := Config{Keys: hostAndFlow, Method: "exact", Calendar: calendar.Calendar{Every: time.Hour}}
	cfg.Total = func(_, _ int64, counts []Count) error { total = slices.Clone(counts); return nil }
	count(cfg)
	cfg.Emit = func(_, _ int64, _ []Count) error { return nil }
	cfg.Total = func(_, _ int64, counts []Count) error { again = slices.Clone(counts); return nil }
	count(cfg)
	if fmt.Sprint(total) != fmt.Sprint(again) || len(total) == 0 {
		t.Errorf("%v without Emit, %v with", total, again)
	}
}

// moved returns a Counter that goes on from another one.
func moved(t *testing.T, c *Counter, cfg Config) *Counter {
	t.Helper()
	var file bytes.Buffer
	saved, err := c.Save(&file)
	if err != nil {
		t.Fatal(err)
	}
	next := New(&cfg)
	if err := next.Resume(&file, &saved, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRatesOfPast checks the rates of the filters that windows' elements come through:
// with a past, digests have its rate and addresses none, unless flows imply them.
func TestRatesOfPast(t *testing.T) {
	packets := newPackets(3000, int64(100*time.Hour+30*time.Minute), time.Millisecond)
	for _, implies := range []func(i, j int) bool{nil, flowImplies} {
		for _, past := range []time.Duration{0, time.Hour} {
			cfg := Config{
				Keys: hostAndFlow, Calendar: calendar.Calendar{Every: time.Hour, Location: time.UTC}, Past: past,
				Method: methodAuto, FPR: 1e-6, Implies: implies, Emit: func(int64, int64, []Count) error { return nil },
			}
			c := New(&cfg)
			b := c.NewBatch()
			fill(b, packets)
			if err := c.Count(b, nil); err != nil {
				t.Fatal(err)
			}
			_, _, counts := c.Current() // three families each
			host, flow := counts[0], counts[3]
			bits := 64.
			if past > 0 {
				bits = 58
			}
			if log := math.Log2(float64(flow.Distinct) / flow.FPR); math.Abs(log-bits) > 0.1 {
				t.Errorf("past %v: a rate of %g of %d flows, 2^-%g of them", past, flow.FPR, flow.Distinct, log)
			}
			want := 0.
			if implies != nil {
				want = flow.FPR
			}
			if host.FPR != want {
				t.Errorf("past %v: a rate of %g of hosts, want %g", past, host.FPR, want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCounts compares counts, first sightings and packets with maps.
func TestCounts(t *testing.T) {
	packets := newPackets(2000, int64(100*time.Hour), 0)
	known := map[bool][2]map[uint32]bool{} // hosts and flows of packets with a time, and of those without
	for _, timed := range []bool{false, true} {
		known[timed] = [2]map[uint32]bool{{}, {}}
	}
	var sightings []string
	for i, p := range packets {
		for key, element := range []uint32{p.host(), p.flow} {
			if in := known[p.time != noTime][key]; !in[element] {
				in[element] = true
				sightings = append(sightings, fmt.Sprint(i, key))
			}
		}
	}
	var counts []Count
	c := New(&Config{
		Keys: hostAndFlow, Method: methodExact, FirstSeen: true, Implies: flowImplies,
		Emit: func(_, _ int64, of []Count) error { counts = append(counts, of...); return nil },
	})
	var seen []string
	b, done := c.NewBatch(), 0
	b.FirstSeen = func(_ int64, first []FirstSeen) error {
		for _, f := range first {
			seen = append(seen, fmt.Sprint(done+int(f.Packet), f.Key))
		}
		return nil
	}
	for done < len(packets) {
		n := min(300, len(packets)-done)
		fill(b, packets[done:done+n])
		if err := c.Count(b, nil); err != nil {
			t.Fatal(err)
		}
		done += n
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, sightings) {
		t.Errorf("first sightings %q, want %q", seen, sightings)
	}
	var got, want []int
	for _, one := range counts {
		if one.Family == "all" {
			got = append(got, int(one.Distinct), int(one.Packets))
		}
	}
	untimed := (len(packets) + 8) / 9
	for _, timed := range []bool{true, false} {
		n := untimed
		if timed {
			n = len(packets) - untimed
		}
		want = append(want, len(known[timed][0]), n, len(known[timed][1]), n)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestEmitFails counts nothing more once counts could not be emitted, and returns why.
func TestEmitFails(t *testing.T) {
	full, calls := errors.New("full"), 0
	for name, cfg := range map[string]Config{
		"windows": {Calendar: calendar.Calendar{Every: time.Minute}},
		"slides":  {Window: time.Minute, Slide: time.Second},
	} {
		calls = 0
		cfg.Keys, cfg.Method = hostAndFlow, methodExact
		cfg.Emit = func(int64, int64, []Count) error { calls++; return full }
		c := New(&cfg)
		b := c.NewBatch()
		fill(b, newPackets(2000, int64(100*time.Hour), time.Second))
		err := c.Count(b, nil)
		if end := c.Close(); !errors.Is(end, full) || name == "slides" && !errors.Is(err, full) || calls != 1 {
			t.Errorf("%s: %v, then %v, after %d calls", name, err, end, calls)
		}
	}
}

// TestUnseen lists unseen elements, takes each of them once, and picks the elements of a
// range.
func TestUnseen(t *testing.T) {
	var s Series[uint32]
	copy(s.Add(upTo(100), 0), slices.Repeat([]uint32{7}, 100))
	for i := range s.items {
		s.items[i] = uint32(1000 + i)
	}
	seen := []uint64{^uint64(1<<3 | 1<<4 | 1<<63), ^uint64(1 << 0)}
	s.unseen.add(seen, 0, 100)
	if got := s.unseen.take(); !slices.Equal(got, []uint32{3, 4, 63, 64}) || len(s.unseen.take()) != 0 {
		t.Errorf("takes %v", got)
	}
	for _, c := range []struct {
		from, end int
		want      []uint32
	}{{0, 100, []uint32{1003, 1004, 1063, 1064}}, {3, 5, []uint32{1003, 1004}}, {4, 64, []uint32{1004, 1063}}, {5, 63, nil}, {65, 100, nil}} {
		if got := s.pick(s.unseen.within(c.from, c.end)); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: %v, want %v", c.from, c.end, got, c.want)
		}
	}
	s.reset()
	if s.unseen.valid || len(s.unseen.take()) != 0 {
		t.Error("the next batch keeps unseen elements")
	}
}

// counterOfCounts counts how often it is asked for its count.
type counterOfCounts struct {
	slidingCounter
	asked int
}

func (c *counterOfCounts) Count(now int64) engine.Counts {
	c.asked++
	return c.slidingCounter.Count(now)
}

// TestSilentSlides emits counts at each slide of a silent stretch without counting anew,
// as nothing enters or leaves the window.
func TestSilentSlides(t *testing.T) {
	const window = 4096 // slides
	var packets []uint64
	emit := func(_, _ int64, counts []Count) error {
		if packets = append(packets, counts[0].Packets); len(counts) != 1 || counts[0].Distinct != 1 {
			t.Errorf("slide %d: %+v", len(packets), counts)
		}
		return nil
	}
	s := newSlides(&Config{
		Keys: []Key{{Name: "mac", MAC: true, PerPacket: 2}}, Window: window * time.Second, Slide: time.Second, Method: methodExact,
	}, emit)
	counter := &counterOfCounts{slidingCounter: sliding.NewMap(window * time.Second)}
	family := &s.keys[0].mac
	family.counter, family.packets.bySlide = counter, make([]uint64, window)
	for _, second := range []int64{0, 4000, 8095} {
		at := second * int64(time.Second)
		s.advance(at)
		s.addQuarantined(quarantinedPacket{time: at, counted: 1, elements: []quarantinedElements{{family, []digest.Digest{{1, 2}}}}})
	}
	want := slices.Concat(slices.Repeat([]uint64{1}, 4000), slices.Repeat([]uint64{2}, 96), slices.Repeat([]uint64{1}, 3999), []uint64{2})
	if err := s.close(); err != nil || !slices.Equal(packets, want) {
		t.Errorf("%d counts, want %d, %v", len(packets), len(want), err)
	}
	if counter.asked > 8 {
		t.Errorf("counted %d times for %d slides", counter.asked, len(packets))
	}
}
