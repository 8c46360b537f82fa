package rivals

import (
	"context"
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/window"
)

// packetMethods are those that could tell copies of packets.
func packetMethods() []method {
	return []method{
		engineWindow(false, func(ns int64) window.Window {
			return window.Window{Duration: time.Duration(ns)}
		}),
		timedRows(8, 48, 16, lineBits),
		timedRows(16, 24, 8, lineBits),
		timedRows(21, 16, 8, lineBits),
		timedRows(32, 12, 4, lineBits),
		withoutWindow(rows(8, 64, lineBits, EvictLRU)),
		withoutWindow(rows(16, 32, lineBits, EvictLRU)),
		withoutWindow(rows(32, 16, lineBits, EvictLRU)),
		agePartitioned(true),
		agePartitioned(false),
		agingLine,
		aging,
		jumping(4, 7, false),
		timers(8, 3, 1),
		stableLines(3, 4, 72),
	}
}

// withoutWindow takes a method's prediction away, which does not know that elements
// from before the window are reported too.
func withoutWindow(m method) method {
	m.predict = nil
	return m
}

func packetTable(ctx context.Context, name string, o result.Options) (result.Table, error) {
	n, window := 400_000, 5*time.Millisecond
	if o.Full {
		n, window = 4_000_000, 20*time.Millisecond
	}
	perPacket := []int{32, 64, 128, 256, 512}
	t := packets(n, int64(window))
	g := grid{strict: true, methods: packetMethods(), memory: memoryFor(t, perPacket), trace: t}
	if err := g.run(ctx, o.Workers); err != nil {
		return result.Table{}, err
	}
	table := g.table(bitLabels(perPacket))
	table.Name = name
	table.Title = "Packet de-duplication at equal memory"
	table.Setting = fmt.Sprintf("%d packets, a million new ones a second on average in bursts of twice the rate. Half of them come again within half of the window, "+
		"which is %v and holds %.0f different packets on average and %d at most; memory is given in bits for each of the former. "+
		"FPR: packets dropped that are no copies; one in fifty of them repeats a packet from more than a window ago. FNR: copies let through. "+
		"The last column is the share of repeats from one to two windows later that is dropped.",
		len(t.elements), window, t.distinct, t.most)
	g.addLate(&table, 2)
	table.Notes = append(table.Notes, "A dropped packet is lost for good, a copy let through costs some work. So a rate that was measured as 0 matters: "+unseenNote)
	table.Notes = append(table.Notes, "This project's rows are not on the fronts: rows 8x(48+16) miss fewer copies in the same memory, and rows 16x(24+8) hardly any, at a false positive rate of some 1e-6. "+
		"What the 85 bits of its cells buy is not in these rates: exact times, packets in any order and no sweep. By its rates alone it needs 256 bits for each packet in the window where rows 16x(24+8) need 64.")
	table.Charts = []result.Picture{g.front(name, "Packets")}
	return table, nil
}
