// SPDX-License-Identifier: Apache-2.0

package count

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// traffic returns packets of few hosts, IPv4 and IPv6, with and without a VLAN tag, and
// some that are not IP.
func traffic(rng *rand.Rand, packets int, times func(i int) int64) *capture.Batch {
	b := &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: capture.LinkEthernet, TicksPerSecond: 1e9}},
		Sections:   []capture.Section{{Format: capture.FormatPcapNG}},
	}
	for i := range packets {
		frame := make([]byte, 12, 80)

		frame[5], frame[11] = byte(1+rng.IntN(3)), byte(1+rng.IntN(3))
		if rng.IntN(4) == 0 {
			frame = append(frame, 0x81, 0, 0, byte(rng.IntN(2)))
		}
		src, dst := byte(rng.IntN(1+i/20)), byte(rng.IntN(6))
		ports := []byte{0, byte(rng.IntN(3)), 0, byte(rng.IntN(3)), 0, 8, 0, 0}
		switch rng.IntN(8) {
		case 0:
			frame = append(frame, 0x08, 0x06, 1, 2, 3) // ARP
		case 1, 2:
			ip := make([]byte, 40)
			ip[0], ip[5], ip[6], ip[7], ip[23], ip[39] = 0x60, 8, 17, 64, src, dst
			frame = append(append(append(frame, 0x86, 0xdd), ip...), ports...)
		default:
			ip := make([]byte, 20)
			ip[0], ip[3], ip[8], ip[9], ip[15], ip[19] = 0x45, 28, 64, 17, src, dst
			frame = append(append(append(frame, 0x08, 0x00), ip...), ports...)
		}
		b.Frames = append(b.Frames, capture.Frame{
			Time: times(i), Data: uint32(len(b.Buf)), CapLen: uint32(len(frame)), WireLen: uint32(len(frame)),
		})
		b.Buf = append(b.Buf, frame...)
	}
	return b
}

// counts counts keys in batches of random sizes, of which some packets are copies, and
// saves and resumes in between. It returns the rows of windows, and the past span at the
// end.
func counts(t *testing.T, cfg Config, b *capture.Batch) (rows []Row, past []windows.Count) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 1))
	cfg.Rows = func(of []Row) error {
		rows = append(rows, of...)
		return nil
	}
	c := NewCounter(&cfg)
	for at, half := 0, len(b.Frames)/2; at < len(b.Frames); {
		n := min(1+rng.IntN(200), len(b.Frames)-at)
		part := *b
		part.Frames = b.Frames[at : at+n]
		drop := make([]uint64, (n+63)/64)
		for i := range n {
			drop[i/64] |= uint64((at+i)%7/6) << (i % 64)
		}
		p := c.NewPackets()
		p.Reset(UsableTimes(nil, part.Frames))
		for from := 0; from < n; from += 100 {
			p.PrepareGroup(&part, from, min(from+100, n))
		}
		if err := p.Count(&part, drop); err != nil {
			t.Fatal(err)
		}
		if at < half && at+n >= half && cfg.Calendar.Every > 0 {
			c = moved(t, c, cfg)
		}
		at += n
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	past = c.Past(b.Frames[len(b.Frames)-1].Time)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return rows, past
}

// moved saves c and returns a counter that resumes it, with a configuration of its own.
func moved(t *testing.T, c *Counter, cfg Config) *Counter {
	t.Helper()
	var file bytes.Buffer
	saved, err := c.Save(&file)
	if err != nil {
		t.Fatal(err)
	}
	next := NewCounter(&cfg)
	if err := next.Resume(&file, &saved, time.Now().UnixNano()); err != nil {
		t.Fatal(err)
	}
	if err := c.Abandon(); err != nil {
		t.Fatal(err)
	}
	return next
}

// TestImpliedKeys compares the counts of keys that imply one another, in windows with and
// without a past span and in the past span, with the counts of each key by itself.
func TestImpliedKeys(t *testing.T) {
	// An hour later than now at least, so that nothing leaves the past when it is resumed.
	begin := time.Now().Add(2 * time.Hour).Truncate(time.Hour).UnixNano()
	rng := rand.New(rand.NewPCG(2, 6))
	streams := map[string]func(i int) int64{
		"steady":     func(i int) int64 { return begin + int64(i)*int64(time.Second) },
		"disordered": func(i int) int64 { return begin + int64(i)*int64(time.Second) - rng.Int64N(int64(time.Minute)) },
		"slow":       func(i int) int64 { return begin + int64(i)*int64(20*time.Second) },
		"fast":       func(i int) int64 { return begin + int64(i)*int64(time.Millisecond) },
		"untimed": func(i int) int64 {
			if i%9 == 0 {
				return capture.NoTime
			}
			return begin + int64(i)*int64(time.Second)
		},
	}
	cases := [][]keys.Config{
		{{Kind: keys.Src}, {Kind: keys.Dst}, {Kind: keys.Flow}},
		{{Kind: keys.Flow}, {Kind: keys.Pair}, {Kind: keys.Biflow}, {Kind: keys.IP}, {Kind: keys.MACs}},
		{{Kind: keys.Src}, {Kind: keys.Dst}, {Kind: keys.IP}},
		{{Kind: keys.IP}, {Kind: keys.Biflow}, {Kind: keys.Src}},
		{{Kind: keys.Src, VLAN: true}, {Kind: keys.Flow, VLAN: true}, {Kind: keys.MACs, VLAN: true}},
		{{Kind: keys.Dst, Mask4: 30}, {Kind: keys.Pair, Mask4: 30}},
	}
	for name, times := range streams {
		for i, counted := range cases {
			if i > 1 && name != "steady" {
				break
			}
			for _, every := range []time.Duration{0, time.Hour, 97 * time.Second} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, i, every), func(t *testing.T) {
					b := traffic(rand.New(rand.NewPCG(1, uint64(i))), 1500, times)
					compareWithAlone(t, b, Config{
						Keys: counted, Config: windows.Config{Calendar: calendar.Calendar{Every: every, Location: time.UTC}, Past: time.Hour, Method: "auto", FPR: 1e-6, Secret: engine.Secret{byte(i)}},
					})
				})
			}
		}
	}
}

func compareWithAlone(t *testing.T, b *capture.Batch, cfg Config) {
	t.Helper()
	rows, past := counts(t, cfg, b)
	spans := cfg
	spans.Past = 0
	withoutPast, _ := counts(t, spans, b)
	want, wantWithoutPast := map[string]Row{}, map[string]Row{}
	var each []windows.Count
	for _, key := range cfg.Keys {
		alone := cfg
		alone.Keys = []keys.Config{key}
		counted, one := counts(t, alone, b)
		each = append(each, one...)
		for _, row := range counted {
			want[place(row)] = row
		}
		alone.Past = 0
		counted, _ = counts(t, alone, b)
		for _, row := range counted {
			wantWithoutPast[place(row)] = row
		}
	}
	for _, spans := range []struct {
		got  []Row
		want map[string]Row
	}{{rows, want}, {withoutPast, wantWithoutPast}} {
		for _, row := range spans.got {
			alone := spans.want[place(row)]
			if row.FPR < alone.FPR || row.FPR > 1e-12 {
				t.Errorf("%+v: a rate of %v alone", row, alone.FPR)
			}
			row.FPR = alone.FPR
			if !reflect.DeepEqual(row, alone) {
				t.Errorf("got %+v, alone %+v", row, alone)
			}
		}
		if len(spans.got) != len(spans.want) || len(spans.got) == 0 {
			t.Errorf("%d rows, %d of keys alone", len(spans.got), len(spans.want))
		}
	}
	for i := range each {
		if past[i].Key != each[i].Key || past[i].Family != each[i].Family || past[i].Distinct != each[i].Distinct ||
			past[i].Low != each[i].Low || past[i].High != each[i].High {
			t.Errorf("past %+v, want %+v", past[i], each[i])
		}
	}
	if len(past) != len(each) {
		t.Errorf("%d counts over the past, want %d", len(past), len(each))
	}
}

// place says what a row counts.
func place(r Row) string {
	start := "no time"
	if r.WindowStart != nil {
		start = *r.WindowStart
	}
	return start + " " + r.Of + " " + r.Family
}
