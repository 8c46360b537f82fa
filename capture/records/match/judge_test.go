// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// rec returns a record of an exporter, of a flow from a to b in a span of seconds.
func rec(exporter int, a, b string, protocol uint8, from, to float64) records.Record {
	source, destination := netip.MustParseAddrPort(a), netip.MustParseAddrPort(b)
	return records.Record{
		Point:  records.Point{Exporter: netip.AddrFrom4([4]byte{192, 0, 2, byte(exporter)})},
		Source: source.Addr(), SourcePort: source.Port(), Destination: destination.Addr(), DestinationPort: destination.Port(),
		Protocol: protocol, Start: 1e18 + int64(from*1e9), End: 1e18 + int64(to*1e9), Packets: 10, Bytes: 1000,
	}
}

// newJudge returns a judge that the test closes at its end.
func newJudge(t testing.TB, cfg Config) *Judge {
	t.Helper()
	j, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// with changes a record.
func with(r records.Record, change func(*records.Record)) records.Record {
	change(&r)
	return r
}

// unread has parts of a record that could not be read.
func unread(parts records.Parts) func(*records.Record) {
	return func(r *records.Record) { r.Unread = parts }
}

const (
	client = "10.0.0.1:1234"
	server = "10.0.0.2:443"
)

// TestJudge states what makes records copies: K for those kept, C for copies, U for those
// unchecked.
func TestJudge(t *testing.T) {
	one, same := rec(1, client, server, 6, 0, 9), rec(2, client, server, 6, 0, 9)
	ping := func(exporter int, a, b string, kind uint16) records.Record {
		return with(rec(exporter, a+":0", b+":0", 1, 0, 1), func(r *records.Record) { r.DestinationPort = kind << 8 })
	}
	deltas := &Deltas{Start: time.Second, Duration: time.Second, Packets: 1, Bytes: 100}
	for name, c := range map[string]struct {
		cfg  Config
		all  []records.Record
		want string
	}{
		"two exporters":              {Config{}, []records.Record{one, same}, "KC"},
		"one exporter":               {Config{}, []records.Record{one, one, one}, "KKK"},
		"another domain":             {Config{}, []records.Record{one, with(one, func(r *records.Record) { r.Point.Domain = 7 })}, "KC"},
		"another protocol":           {Config{}, []records.Record{one, rec(2, client, server, 17, 0, 9)}, "KK"},
		"without addresses":          {Config{}, []records.Record{one, with(same, func(r *records.Record) { r.Unmatched = true })}, "KU"},
		"a port unread":              {Config{}, []records.Record{one, with(same, unread(records.PartFlow)), same}, "KUC"},
		"a time unread":              {Config{}, []records.Record{with(one, unread(records.PartTime)), same}, "UK"},
		"a VLAN unread":              {Config{}, []records.Record{one, with(same, unread(records.PartVLAN|records.PartVRF|records.PartTOS|records.PartNAT|records.PartPoint|records.PartCounters))}, "KC"},
		"a VLAN unread, in the key":  {Config{Key: Key{VLAN: true}}, []records.Record{one, with(same, unread(records.PartVLAN))}, "KU"},
		"a VRF unread, in the key":   {Config{Key: Key{VRF: true}}, []records.Record{one, with(same, unread(records.PartVRF))}, "KU"},
		"a TOS unread, in the key":   {Config{Key: Key{TOS: true}}, []records.Record{one, with(same, unread(records.PartTOS))}, "KU"},
		"a translation unread":       {Config{NAT: true}, []records.Record{one, with(same, unread(records.PartNAT))}, "KU"},
		"an interface unread":        {Config{Points: Interface}, []records.Record{one, with(same, unread(records.PartPoint))}, "KU"},
		"packets unread":             {Config{Pairs: deltas}, []records.Record{one, with(same, unread(records.PartCounters))}, "KU"},
		"packets unread, any":        {Config{Pairs: &Deltas{time.Second, -1, -1, -1}}, []records.Record{one, with(same, unread(records.PartCounters))}, "KC"},
		"two inputs":                 {Config{}, []records.Record{one, with(one, func(r *records.Record) { r.Input = 1 })}, "KK"},
		"two inputs of one exporter": {Config{Points: Same}, []records.Record{one, one, with(one, func(r *records.Record) { r.Input = 1 })}, "KKC"},
		"the other direction":        {Config{}, []records.Record{one, rec(2, server, client, 6, 0, 9)}, "KK"},
		"biflow":                     {Config{Key: Key{Biflow: true}}, []records.Record{one, rec(2, server, client, 6, 0, 9)}, "KC"},
		"biflow, ping":               {Config{Key: Key{Biflow: true}}, []records.Record{ping(1, "10.0.0.1", "10.0.0.2", 8), ping(2, "10.0.0.2", "10.0.0.1", 0)}, "KC"},
		"flow, ping":                 {Config{}, []records.Record{ping(1, "10.0.0.1", "10.0.0.2", 8), ping(2, "10.0.0.2", "10.0.0.1", 0)}, "KK"},
		"another VLAN":               {Config{}, []records.Record{one, with(same, func(r *records.Record) { r.VLAN = 7 })}, "KC"},
		"another VLAN, told apart":   {Config{Key: Key{VLAN: true}}, []records.Record{one, with(same, func(r *records.Record) { r.VLAN = 7 })}, "KK"},
		"another VRF, told apart":    {Config{Key: Key{VRF: true}}, []records.Record{one, with(same, func(r *records.Record) { r.VRF = 7 })}, "KK"},
		"another TOS, told apart":    {Config{Key: Key{TOS: true}}, []records.Record{one, with(same, func(r *records.Record) { r.TOS = 7 })}, "KK"},
		"interfaces":                 {Config{Points: Interface}, []records.Record{one, with(one, func(r *records.Record) { r.Ingress = 7 })}, "KC"},
		"observation points":         {Config{Points: Observation}, []records.Record{one, with(one, func(r *records.Record) { r.Observation = 7 })}, "KC"},
		"directions":                 {Config{Points: Direction}, []records.Record{one, with(one, func(r *records.Record) { r.Direction = records.DirectionEgress })}, "KC"},
		"without times": {Config{}, []records.Record{
			with(one, func(r *records.Record) { r.Start, r.End, r.Exported, r.Received = 0, 0, 1e18, 1e18+1 }),
			with(same, func(r *records.Record) { r.Start, r.End, r.Exported, r.Received = 0, 0, 1e18+60e9, 1e18+60e9+1 }),
			with(same, func(r *records.Record) { r.Start, r.End, r.Exported, r.Received = 0, 0, 1e18+300e9, 1e18+300e9+1 }),
		}, "KCK"},
		"an owner is waited for": {Config{OwnerTimeout: time.Minute}, []records.Record{one, rec(2, client, server, 6, 30, 60), rec(2, client, server, 6, 300, 360)}, "KCK"},
		"one is preferred": {Config{Prefer: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}, []records.Record{
			one, same, rec(1, client, server, 6, 9, 18), rec(2, client, server, 6, 9, 18),
		}, "KCCK"},
		"one sees more": {Config{PreferSampling: true}, []records.Record{
			with(one, func(r *records.Record) { r.Sampling = 100 }), same, rec(1, client, server, 6, 9, 18), rec(2, client, server, 6, 9, 18),
		}, "KCCK"},
		"NAT": {Config{NAT: true}, []records.Record{
			one, // before it
			with(same, func(r *records.Record) {
				r.NATSource, r.NATSourcePort = netip.MustParseAddr("198.51.100.1"), 999
			}),
			rec(3, "198.51.100.1:999", server, 6, 0, 9), // behind it
			rec(3, client, server, 6, 0, 9),
		}, "KCCC"},
		"one to one":                 {Config{Pairs: deltas}, []records.Record{one, one, same, same, same}, "KKCCK"},
		"one to one, of three":       {Config{Pairs: deltas}, []records.Record{one, same, rec(3, client, server, 6, 0, 9), rec(3, client, server, 6, 0, 9)}, "KCCK"},
		"one to one, late":           {Config{Pairs: deltas}, []records.Record{one, rec(2, client, server, 6, 2, 11)}, "KK"},
		"one to one, longer":         {Config{Pairs: deltas}, []records.Record{one, rec(2, client, server, 6, 0, 11)}, "KK"},
		"one to one, more packets":   {Config{Pairs: deltas}, []records.Record{one, with(same, func(r *records.Record) { r.Packets = 12 })}, "KK"},
		"one to one, a packet more":  {Config{Pairs: deltas}, []records.Record{one, with(same, func(r *records.Record) { r.Packets = 11 })}, "KC"},
		"one to one, more bytes":     {Config{Pairs: deltas}, []records.Record{one, with(same, func(r *records.Record) { r.Bytes = 1101 })}, "KK"},
		"one to one, nearest first":  {Config{Pairs: deltas}, []records.Record{one, rec(1, client, server, 6, 0.9, 9.9), rec(2, client, server, 6, 0.8, 9.8), rec(2, client, server, 6, 0.1, 9.1)}, "KKCC"},
		"one to one, any difference": {Config{Pairs: &Deltas{time.Second, -1, -1, -1}}, []records.Record{one, with(same, func(r *records.Record) { r.End += 100e9; r.Packets = 1 << 40 })}, "KC"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []observed
			for _, r := range c.all {
				all = append(all, observed{Record: r})
			}
			verdicts, j := verdictsOf(t, c.cfg, all, whole)
			got := ""
			for _, v := range verdicts {
				got += string("KCU"[v])
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			sum := uint64(0)
			j.EachPair(func(_, _ uint32, n uint64) { sum += n })
			if counts := j.Counts(); counts.Copies != sum || int(counts.Copies) != strings.Count(c.want, "C") || int(counts.Unchecked) != strings.Count(c.want, "U") {
				t.Errorf("%+v, %d in the matrix", counts, sum)
			}
		})
	}
}

// TestKeys parses keys, and rejects others.
func TestKeys(t *testing.T) {
	for _, s := range []string{"flow", "biflow", "flow+vlan", "biflow+vlan+vrf+tos"} {
		if k, err := ParseKey(s); err != nil || k.String() != s {
			t.Errorf("%q: %q, %v", s, k, err)
		}
	}
	for _, s := range []string{"", "vlan", "flow+", "flow+flow", "flow,vlan", "+vlan"} {
		if k, err := ParseKey(s); err == nil {
			t.Errorf("%q: %q", s, k)
		}
	}
	for _, s := range []string{"exporter", "direction", "interface"} {
		if k, err := ParsePointKind(s); err != nil || k.String() != s {
			t.Errorf("%q: %q, %v", s, k, err)
		}
	}
	if _, err := ParsePointKind("port"); err == nil {
		t.Error("port is a kind of points")
	}
}

// TestBoundary keeps what crosses the boundary.
func TestBoundary(t *testing.T) {
	b, err := ReadBoundary(strings.NewReader("# a comment\n\n192.0.2.1 1 external\n192.0.2.1,2,internal\n192.0.2.1 3\tinternal\n192.0.2.1 2 internal\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exporter int
		in, out  uint32
		want     records.Verdict
	}{{1, 1, 2, records.Keep}, {1, 2, 1, records.Keep}, {1, 2, 3, records.Copy}, {1, 1, 9, records.Keep}, {1, 2, 9, records.Unchecked}, {1, 9, 1, records.Unchecked}, {2, 1, 2, records.Unchecked}} {
		r := with(rec(c.exporter, client, server, 6, 0, 1), func(r *records.Record) { r.Ingress, r.Egress = c.in, c.out })
		if v, _ := verdictsOf(t, Config{Boundary: b}, []observed{{Record: r}}, whole); v[0] != c.want {
			t.Errorf("%+v: %d", c, v[0])
		}
	}
	for _, text := range []string{"192.0.2.1 1", "192.0.2.1 1 outside", "router 1 external", "192.0.2.1 eth0 external", "192.0.2.1 1 external\n192.0.2.1 1 internal"} {
		if _, err := ReadBoundary(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCuts judges the records of a world in batches of any size. The size does not change verdicts.
func TestCuts(t *testing.T) {
	w := &world{rng: rand.New(rand.NewPCG(1, 2)), loss: 0.05}
	w.routers = []*router{newRouter(1, 5*time.Second), newRouter(2, time.Minute)}
	w.routers[0].skew = 3 * sec
	w.path = func(int, int64, int64) []*router { return w.routers }
	w.run(50, 3*time.Minute)
	for name, cfg := range map[string]Config{"owner": {}, "pairs": {Pairs: &Deltas{5 * time.Second, -1, -1, -1}}} {
		want, _ := verdictsOf(t, cfg, w.out, whole)
		got, _ := verdictsOf(t, cfg, w.out, func() int { return 1 + w.rng.IntN(40) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: verdicts differ", name)
		}
	}
}

// TestFlood sends random flows. Known flows keep their owner, and the random flows pass unchecked.
func TestFlood(t *testing.T) {
	for name, cfg := range map[string]Config{"owner": {Memory: 64 << 10}, "pairs": {Memory: 64 << 10, Pairs: &Deltas{time.Second, -1, -1, -1}}} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t, cfg)
			known := func(exporter int) (b records.Batch) {
				for n := range 50 {
					b.Records = append(b.Records, rec(exporter, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(n)).String(), server, 6, 0, 1))
				}
				return b
			}
			first, flood, again := known(1), records.Batch{}, known(2)
			j.Judge(&first)
			rng := rand.New(rand.NewPCG(1, 2))
			for range 100_000 {
				a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), 1}), uint16(rng.Uint32()))
				flood.Records = append(flood.Records, rec(9, a.String(), server, 17, 1, 2))
			}
			j.Judge(&flood)
			verdicts, _ := j.Judge(&again)
			for i, v := range verdicts {
				if v != records.Copy {
					t.Fatalf("flow %d: %d", i, v)
				}
			}
			if c := j.Counts(); c.Unchecked < 90_000 || c.Copies != 50 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestHostile gives records of any content: whatever they say, the judge answers.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	times := []int64{0, 1, -1, 1 << 62, -1 << 63, 1<<63 - 1, 1e18}
	pick := func() int64 { return times[rng.IntN(len(times))] }
	for _, cfg := range []Config{{NAT: true}, {Pairs: &Deltas{time.Second, time.Second, 0, 0}}, {Key: Key{Biflow: true}, OwnerTimeout: 1<<63 - 1}} {
		var all []observed
		for range 20_000 {
			r := rec(rng.IntN(3), client, server, uint8([]int{1, 6, 58}[rng.IntN(3)]), 0, 0)
			r.Start, r.End, r.Exported, r.Received = pick(), pick(), pick(), pick()
			r.Precision = time.Duration(pick())
			r.Packets, r.Bytes = uint64(pick()), uint64(pick())
			r.Sampling = uint32(pick())
			if rng.IntN(5) == 0 {
				r.Source, r.NATSource = netip.Addr{}, netip.IPv6Unspecified()
				r.Unmatched = true
			}
			all = append(all, observed{Record: r})
		}
		verdicts, j := verdictsOf(t, cfg, all, func() int { return 1 + rng.IntN(100) })
		if len(verdicts) != len(all) || j.Counts().Records != uint64(len(all)) {
			t.Errorf("%d verdicts", len(verdicts))
		}
	}
}

// TestNoAllocation judges in a steady state.
func TestNoAllocation(t *testing.T) {
	for name, cfg := range map[string]Config{"owner": {NAT: true}, "pairs": {Pairs: &Deltas{time.Second, -1, -1, -1}}} {
		t.Run(name, func(t *testing.T) {
			cfg.Memory = 1 << 20
			j := newJudge(t, cfg)
			var b records.Batch
			for n := range 30 {
				b.Records = append(b.Records, rec(1+n%2, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(n/2)).String(), server, 6, 0, 1))
			}
			h := NewHold(HoldConfig{Memory: 1 << 20, Emit: func(*Held) error { return nil }})
			judge := func() {
				verdicts, judgments := j.Judge(&b)
				if err := h.Add(&b, verdicts, judgments); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				judge()
			}
			if n := testing.AllocsPerRun(100, judge); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// TestHold holds records until their copies have come.
func TestHold(t *testing.T) {
	line := []byte(`{"a":1}` + "\n")
	batch := func(all ...records.Record) *records.Batch {
		b := &records.Batch{Kind: records.JSON}
		for _, r := range all {
			r.Offset, r.Length = len(b.Raw), len(line)
			b.Raw = append(b.Raw, line...)
			b.Records = append(b.Records, r)
		}
		return b
	}
	big := with(rec(2, client, server, 6, 0, 9), func(r *records.Record) { r.Bytes, r.Packets, r.TCPFlags, r.Ingress = 2000, 5, 2, 77 })
	all := batch(rec(1, client, server, 6, 0, 9), big, rec(3, client, server, 6, 0, 9), rec(1, client, server, 6, 9, 30), rec(2, client, server, 6, 9, 30), rec(1, client, server, 6, 30, 30.1))
	for name, c := range map[string]struct {
		cfg    HoldConfig
		copies []int
		bytes  uint64 // of the first
		seen   int
	}{
		"held":        {HoldConfig{Window: time.Hour, Memory: 1 << 20}, []int{2, 1, 0}, 1000, 3},
		"not held":    {HoldConfig{Memory: 1 << 20}, []int{0, 0, 0}, 1000, 1},
		"for a while": {HoldConfig{Window: 10 * time.Second, Memory: 1 << 20}, []int{2, 1, 0}, 1000, 3},
		"merged":      {HoldConfig{Window: time.Hour, Merge: true, Memory: 1 << 20}, []int{2, 1, 0}, 2000, 3},
		"marked":      {HoldConfig{Window: time.Hour, Mark: true, Memory: 1 << 20}, []int{2, 0, 0, 1, 0, 0}, 1000, 3},
		"no room":     {HoldConfig{Window: time.Hour, Memory: 1}, []int{2, 1, 0}, 1000, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var copies []int
			c.cfg.Emit = func(h *Held) error {
				if !bytes.Equal(h.Line, line) || h.Kind != records.JSON {
					t.Errorf("line %q", h.Line)
				}
				if len(copies) == 0 && (h.Record.Bytes != c.bytes || len(h.SeenBy) != c.seen) {
					t.Errorf("%d bytes, seen by %v", h.Record.Bytes, h.SeenBy)
				}
				if (h.Of != 0) != (h.Verdict == records.Copy) {
					t.Errorf("%d is a copy of %d", h.Verdict, h.Of)
				}
				copies = append(copies, h.Copies)
				return nil
			}
			j := newJudge(t, Config{Memory: 1 << 10})
			h := NewHold(c.cfg)
			for i := range all.Records {
				one := *all
				one.Records = all.Records[i : i+1]
				verdicts, judgments := j.Judge(&one)
				if err := h.Add(&one, verdicts, judgments); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Flush(); err != nil {
				t.Fatal(err)
			}
			if name != "not held" && !slices.Equal(copies, c.copies) {
				t.Errorf("copies %v, want %v", copies, c.copies)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"points":  {Points: Observation + 1},
		"timeout": {OwnerTimeout: -1},
		"memory":  {Memory: -1},
	} {
		if j, err := New(cfg); !errors.Is(err, ErrConfig) || j != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
