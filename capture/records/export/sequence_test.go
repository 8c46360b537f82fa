// SPDX-License-Identifier: Apache-2.0

package export

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestSequence counts what gaps of sequence numbers say.
func TestSequence(t *testing.T) {
	type step struct{ number, uptime, seconds uint32 }
	v9 := func(steps ...step) (all [][]byte) {
		for i, s := range steps {
			sets := []([]byte){usualData}
			if i == 0 {
				sets = [][]byte{usualSet, usualData}
			}
			all = append(all, append(exporttest.Head9(1, s.uptime, s.seconds, s.number, 0), concat(sets)...))
		}
		return all
	}
	// The first message has a record and the template, each other message has two records.
	ipfix := func(numbers ...uint32) (all [][]byte) {
		all = append(all, exporttest.IPFIX(900, numbers[0], 0, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows[:1]...))))
		for i, n := range numbers[1:] {
			all = append(all, exporttest.IPFIX(901+uint32(i), n, 0, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows[:2]...))))
		}
		return all
	}
	// Sequence numbers, each with a number of records.
	counted := func(pairs ...[2]uint32) (all [][]byte) {
		for i, p := range pairs {
			sets := [][]byte{exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows[:p[1]]...))}
			if i == 0 {
				sets = append([][]byte{exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...))}, sets...)
			}
			all = append(all, exporttest.IPFIX(900+uint32(i), p[0], 0, sets...))
		}
		return all
	}
	cases := []struct {
		name     string
		messages [][]byte
		want     records.Counts
	}{
		{"v9", v9(step{7, 0, 900}, step{8, 1000, 901}, step{9, 2000, 902}), records.Counts{}},
		{"v9 with a gap", v9(step{7, 0, 900}, step{10, 1000, 901}), records.Counts{Lost: 2}},
		{"v9 out of order", v9(step{7, 0, 900}, step{9, 1000, 901}, step{8, 1000, 901}, step{10, 2000, 902}), records.Counts{}},
		{"v9 that counts for ever", v9(step{1<<32 - 1, 0, 900}, step{0, 1000, 901}), records.Counts{}},
		{"v9 that starts again", v9(step{700, 9e6, 900}, step{701, 9001e3, 901}, step{0, 100, 960}, step{1, 1100, 961}), records.Counts{Restarts: 1}},
		{"v9 that starts again within seconds", v9(step{700, 20e3, 900}, step{701, 21e3, 901}, step{0, 100, 906}, step{1, 1100, 907}), records.Counts{Restarts: 1}},
		{"v9 that starts again with greater numbers", v9(step{700, 20e3, 900}, step{701, 21e3, 901}, step{900, 100, 906}, step{901, 1100, 907}), records.Counts{Restarts: 1}},
		{"v9 that starts again, and a message from before", v9(step{700, 20e3, 900}, step{703, 23e3, 903}, step{0, 100, 906}, step{702, 22e3, 902}, step{1, 1100, 907}), records.Counts{Lost: 1, Restarts: 1}},
		{"v9 whose clock is set", v9(step{700, 20e3, 900}, step{703, 21e3, 4500}, step{704, 22e3, 4501}), records.Counts{Lost: 2}},
		{"v9 that is late twice", v9(step{7, 0, 900}, step{10, 3000, 903}, step{8, 1000, 901}, step{9, 2000, 902}), records.Counts{}},
		{"v9 from before the first", v9(step{7, 0, 900}, step{5, 0, 900}, step{8, 1000, 901}), records.Counts{Lost: 1}},
		{"v9 whose uptime wraps", v9(step{7, 1<<32 - 500, 900}, step{8, 500, 901}), records.Counts{}},
		{"v9 whose uptime wraps, with a gap", v9(step{7, 1<<32 - 500, 900}, step{9, 500, 901}), records.Counts{Lost: 1}},
		{"v9 that comes twice", v9(step{7, 0, 900}, step{8, 1000, 901}, step{8, 1000, 901}, step{9, 2000, 902}), records.Counts{Replayed: 1}},
		{"v9 that does not count", v9(step{0, 0, 900}, step{0, 1000, 901}, step{0, 2000, 902}), records.Counts{}},
		{"IPFIX", ipfix(5, 6, 8, 10), records.Counts{}},
		{"IPFIX with a gap", ipfix(5, 6, 10), records.Counts{Lost: 2}},
		{"IPFIX that counts messages", ipfix(5, 6, 7, 8, 9), records.Counts{}},
		{"IPFIX that counts its own records", counted([2]uint32{11, 1}, [2]uint32{14, 3}, [2]uint32{15, 1}, [2]uint32{17, 2}, [2]uint32{20, 3}), records.Counts{}},
		{"IPFIX that counts its own records, with a gap", counted([2]uint32{11, 1}, [2]uint32{14, 3}, [2]uint32{15, 1}, [2]uint32{17, 2}, [2]uint32{30, 3}), records.Counts{Lost: 10}},
		{"IPFIX that counts its own records, two messages", counted([2]uint32{1, 1}, [2]uint32{4, 3}), records.Counts{}},
		{"IPFIX that counts its own records, few messages", counted([2]uint32{11, 1}, [2]uint32{14, 3}, [2]uint32{15, 1}), records.Counts{}},
		{"IPFIX with a gap as great as a message", counted([2]uint32{11, 1}, [2]uint32{14, 3}, [2]uint32{17, 2}), records.Counts{Lost: 2}},
		{"IPFIX with a gap as great as a message, then another", counted([2]uint32{11, 1}, [2]uint32{14, 3}, [2]uint32{27, 2}), records.Counts{Lost: 12}},
		{"IPFIX with such a gap at its end", counted([2]uint32{11, 1}, [2]uint32{12, 3}, [2]uint32{15, 2}, [2]uint32{20, 3}, [2]uint32{20, 1}), records.Counts{Lost: 3}},
		{"IPFIX that starts again", ipfix(5000, 5001, 0, 2), records.Counts{Restarts: 1}},
		{"IPFIX that starts again within seconds", counted([2]uint32{5, 3}, [2]uint32{8, 3}, [2]uint32{0, 3}, [2]uint32{3, 2}), records.Counts{Restarts: 1}},
		{"v5", [][]byte{exporttest.V5(0, 900, 0, 50, exporttest.Flows...), exporttest.V5(1000, 901, 0, 53, exporttest.Flows...)}, records.Counts{}},
		{"v5 with a gap", [][]byte{exporttest.V5(0, 900, 0, 50, exporttest.Flows...), exporttest.V5(1000, 901, 0, 63, exporttest.Flows...)}, records.Counts{Lost: 10}},
		{"sFlow", [][]byte{exporttest.SFlow("10.0.0.1", 0, 1, 1000), exporttest.SFlow("10.0.0.1", 0, 2, 2000), exporttest.SFlow("10.0.0.1", 0, 5, 3000)}, records.Counts{Lost: 2}},
		{"sFlow that starts again", [][]byte{exporttest.SFlow("10.0.0.1", 0, 100, 90000), exporttest.SFlow("10.0.0.1", 0, 1, 10)}, records.Counts{Restarts: 1}},
		{"sFlow that starts again within seconds", [][]byte{exporttest.SFlow("10.0.0.1", 0, 100, 9000), exporttest.SFlow("10.0.0.1", 0, 1, 10)}, records.Counts{Restarts: 1}},
		{"sFlow, one lost and another one's restart", [][]byte{exporttest.SFlow("10.0.0.1", 0, 100, 90000), exporttest.SFlow("10.0.0.2", 0, 31, 90000), exporttest.SFlow("10.0.0.1", 0, 131, 92000), exporttest.SFlow("10.0.0.2", 0, 1, 10)}, records.Counts{Lost: 30, Restarts: 1}},
		{"two of sFlow", [][]byte{exporttest.SFlow("10.0.0.1", 0, 100, 90000), exporttest.SFlow("10.0.0.2", 0, 7, 10)}, records.Counts{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, n := read(t, c.messages...)
			if len(all) != len(c.messages) {
				t.Fatalf("%d of %d messages", len(all), len(c.messages))
			}
			got := records.Counts{Lost: n.Lost, Replayed: n.Replayed, Restarts: n.Restarts}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			flags := records.Counts{}
			for _, b := range all {
				if b.Replayed {
					flags.Replayed++
				}
				if b.Restarted {
					flags.Restarts++
				}
			}
			if flags.Replayed != n.Replayed || flags.Restarts != n.Restarts {
				t.Errorf("batches say %+v", flags)
			}
		})
	}
}

func concat(all [][]byte) (p []byte) {
	for _, c := range all {
		p = append(p, c...)
	}
	return p
}

// TestOwnRecords reads the messages of softflowd: sequence numbers count the records of flows before
// and in a message. The first message and each 16th after it have templates, and a record about
// the exporter, which does not count. Loss is exact from the first message on.
func TestOwnRecords(t *testing.T) {
	about := slices.Concat(
		exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)),
		exporttest.Set(3, []byte{1, 1, 0, 2, 0, 1}, exporttest.Fields([3]uint32{143, 4}, [3]uint32{160, 8})),
		exporttest.Set(257, exporttest.Words(1234, 0, 900)))
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all [][]byte
		number, pause, flow := uint32(0), uint32(rng.IntN(2)), exporttest.Flows[0]
		lost, missing := uint64(0), uint64(0)
		for i := range uint32(1 + rng.IntN(40)) {
			n := 1 + rng.IntN(12)
			number += uint32(n)
			if i > 0 && rng.IntN(8) == 0 {
				missing += uint64(n)
				continue
			}
			lost, missing = lost+missing, 0 // nothing shows the loss of the last messages
			flow.SourcePort++               // no message comes twice
			sets := exporttest.Set(256, slices.Repeat(exporttest.UsualRecord(flow), n))
			if i%16 == 0 {
				sets = append(slices.Clone(about), sets...)
			}
			all = append(all, exporttest.IPFIX(900+i*pause, number, 0, sets))
		}
		_, n := read(t, all...)
		if n.Lost != lost || n.Restarts != 0 {
			t.Fatalf("history %d of %d messages: lost %d, restarts %d; want %d lost", seed, len(all), n.Lost, n.Restarts, lost)
		}
	}
}
