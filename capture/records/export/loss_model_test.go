// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// sent is a message on its way: number lies in its exporter's sequence since its start.
type sent struct {
	from, to uint32
	life     int
	at       int64 // when it was sent, ns
	came     int64
	data     []byte
}

// modelExporter sends messages of a kind, and starts again now and then.
type modelExporter struct {
	kind    records.Kind
	address string
	domain  uint32
	rng     *rand.Rand
	clock   int64 // by how much its clock is ahead, ns
	sends   []sent
}

// message is a message with a number of records. It equals no other message.
func (e *modelExporter) message(number, uptime uint32, at int64, count int) []byte {
	flow := exporttest.Flows[0]
	flow.SourcePort = uint16(len(e.sends)) + 1
	flows := slices.Repeat([]exporttest.Flow{flow}, count)
	template := exporttest.Template(256, exporttest.UsualTemplate...)
	seconds := uint32((at + e.clock) / second)
	switch e.kind {
	case records.NetFlow5:
		return exporttest.V5(uptime, seconds, uint32((at+e.clock)%second), number, flows...)
	case records.NetFlow9:
		return append(exporttest.Head9(1, uptime, seconds, number, e.domain),
			slices.Concat(exporttest.Set(0, template), exporttest.Set(256, exporttest.UsualRecords(flows...)))...)
	case records.IPFIX:
		return exporttest.IPFIX(seconds, number, e.domain, exporttest.Set(2, template), exporttest.Set(256, exporttest.UsualRecords(flows...)))
	}
	return exporttest.SFlow("203.0.113.77", e.domain, number, uptime, exporttest.IPSample(flow, 1))
}

// run sends messages in some lives. Only the first life begins at any number: exporters that
// start count from 0 on.
func (e *modelExporter) run(at int64, lives int) {
	number, uptime := e.rng.Uint32(), int64(e.rng.Uint32())*int64(time.Millisecond)
	if e.kind == records.IPFIX || e.rng.IntN(2) == 0 {
		number, uptime = 1e6+e.rng.Uint32()>>1, int64(1e6+e.rng.IntN(1e9))*int64(time.Millisecond)
	}
	for life := range lives {
		boot := at - uptime
		for range 12 + e.rng.IntN(12) {
			at += int64(100+e.rng.IntN(900)) * int64(time.Millisecond)
			count := 1 + e.rng.IntN(12)
			s := sent{from: number, life: life, at: at}
			s.data = e.message(number, uint32((at-boot)/int64(time.Millisecond)), at, count)
			if number++; e.kind == records.NetFlow5 || e.kind == records.IPFIX {
				number += uint32(count) - 1
			}
			s.to = number
			e.sends = append(e.sends, s)
		}
		at += int64(2500+e.rng.IntN(40000)) * int64(time.Millisecond)
		number, uptime = 0, 0
	}
}

// deliver loses, delays and repeats messages. It returns what comes, and what a reader must
// count. A life is never lost whole, nor its first two messages both.
func (e *modelExporter) deliver() (come []sent, want records.Counts) {
	first := 0
	for i, s := range e.sends {
		if s.life != e.sends[max(i-1, 0)].life {
			first = i
		}
		lost := e.rng.IntN(6) == 0 && (i > first+1 || i == first)
		if lost {
			continue
		}
		s.came = s.at + int64(e.rng.IntN(20))*int64(time.Millisecond)
		if e.rng.IntN(5) == 0 { // it overtakes, or is overtaken
			s.came += int64(e.rng.IntN(1500)) * int64(time.Millisecond)
		}
		come = append(come, s)
		if e.rng.IntN(6) == 0 {
			s.came += int64(e.rng.IntN(90000)) * int64(time.Millisecond)
			come = append(come, s)
			want.Replayed++
		}
	}
	byLife := map[int][]sent{}
	for _, s := range come {
		if !slices.ContainsFunc(byLife[s.life], func(o sent) bool { return o.from == s.from }) {
			byLife[s.life] = append(byLife[s.life], s)
		}
	}
	for _, all := range byLife {
		for i := 1; i < len(all); i++ {
			want.Lost += uint64(all[i].from - all[i-1].to)
		}
	}
	want.Restarts = uint64(len(byLife) - 1)
	return come, want
}

// TestLossModel has exporters of all protocols start again, and their messages come late,
// twice or never, all mixed. Of each history, what a reader counts is what happened.
func TestLossModel(t *testing.T) {
	histories := 4000
	if testing.Short() {
		histories = 1000
	}
	kinds := []records.Kind{records.NetFlow5, records.NetFlow9, records.IPFIX, records.SFlow}
	for seed := range histories {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var all []exporttest.Datagram
		var want records.Counts
		var events []string
		for n := range 1 + rng.IntN(4) {
			e := &modelExporter{
				kind: kinds[rng.IntN(len(kinds))], address: fmt.Sprintf("10.0.0.%d:2055", rng.IntN(2)), domain: uint32(n), rng: rng,
				clock: int64(rng.IntN(7200)-3600) * second,
			}
			if e.kind == records.NetFlow5 {
				e.address = fmt.Sprintf("10.0.1.%d:2055", n) // all have the same engine
			}
			e.run(1_700_000_000*second+int64(rng.IntN(20000))*int64(time.Millisecond), 1+rng.IntN(4))
			come, expected := e.deliver()
			want.Lost += expected.Lost
			want.Restarts += expected.Restarts
			want.Replayed += expected.Replayed
			events = append(events, fmt.Sprintf("kind %d: %+v", e.kind, expected))
			for _, s := range come {
				all = append(all, exporttest.Datagram{From: e.address, At: s.came, Data: s.data})
			}
		}
		slices.SortStableFunc(all, func(a, b exporttest.Datagram) int { return cmp.Compare(a.At, b.At) })
		r := NewReader(&exporttest.Wire{Datagrams: all, AtOnce: 1 << 10})
		var b records.Batch
		for r.ReadBatch(&b) == nil {
			continue
		}
		n := r.Counts()
		if got := (records.Counts{Lost: n.Lost, Restarts: n.Restarts, Replayed: n.Replayed}); got != want {
			t.Fatalf("history %d: lost %d, restarts %d, replayed %d; want %d, %d, %d\n%v", seed,
				got.Lost, got.Restarts, got.Replayed, want.Lost, want.Restarts, want.Replayed, events)
		}
	}
}
