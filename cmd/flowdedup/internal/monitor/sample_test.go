package monitor

import (
	"iter"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

var began = time.Date(2026, 11, 21, 19, 46, 0, 0, time.UTC)

// sample is a status of a run with everything in it, so many seconds after it began.
func sample(seconds int) *live.Status {
	now := began.Add(time.Duration(seconds) * time.Second)
	// Packets come in waves, and copies in others.
	wave := func(mean, period float64) uint64 {
		return uint64(mean * (float64(seconds) - 0.45*period*math.Cos(float64(seconds)/period)))
	}
	packets, duplicates := wave(412_345, 9), wave(103_210, 5)
	return &live.Status{
		Started: began, Now: now,
		Rings: []ring.Stats{
			{Interface: "eth0", Ring: 0, Received: packets / 2, Delivered: packets / 2, Tagged: packets / 4},
			{Interface: "eth0", Ring: 1, Received: packets/4 + 1234, Dropped: 1234, Freezes: 2, Delivered: packets / 4},
			{Interface: "eth1", Ring: 0, Received: packets / 4, Delivered: packets / 4, Coalesced: 12, Truncated: 3, ChecksumOffloaded: 7, Outages: 1, Hardware: 1},
		},
		PacketsIn: packets, BytesIn: 612 * packets, Duplicates: duplicates, BytesOut: 612 * (packets - duplicates),
		DuplicatesByProtocol: map[string]uint64{"tcp": duplicates / 3, "udp": duplicates - duplicates/3},
		Diffs:                diffs.Counts{Sampled: 12_345, VLAN: 7_531, TTL: 2_469, MAC: 9_876, Interface: 1_235, Other: 12, Exact: 321},
		Filter: live.Filter{Window: "1ms", Identity: "l3", Method: "timed", MemoryBytes: 8 << 20, Fill: 0.4821,
			PredictedFPR: 3.1e-12, EvictedLive: 42, SuggestedMemory: 16 << 20},
		Distinct: distinctSample(now),
		Outputs: []sink.Output{
			{Name: "/var/lib/flowdedup/captures/eth0-20261121.pcapng.zst", Packets: packets - duplicates, Bytes: 612 * (packets - duplicates), Files: 12},
			{Name: "-", Packets: 77, Bytes: 6160, Lost: 1234, Failed: "write stdout: broken pipe"},
		},
		Forward: &sink.Forward{Interface: "veth9", SenderStats: ring.SenderStats{Sent: packets - duplicates, Bytes: 612 * (packets - duplicates), Refused: 12, TooLong: 3, Truncated: 1, Lost: 58, Retries: 99}},
		State:   &live.State{Name: "/var/lib/flowdedup/eth0.state", Saved: now.Add(-12 * time.Second), Bytes: 8 << 20},
	}
}

func distinctSample(now time.Time) []live.Distinct {
	var out []live.Distinct
	for i, of := range []string{"src", "dst", "flow"} {
		all := uint64(13_625 * (i + 1) * (i + 1) * (i + 1))
		for family, n := range families(all) {
			out = append(out, live.Distinct{
				Of: of, Family: family,
				WindowStart: now.Truncate(time.Hour), WindowEnd: now.Truncate(time.Hour).Add(time.Hour), Window: n,
				Span: time.Hour, Sliding: 2*n + 12, Low: 2*n - 25, High: 2*n + 49,
			})
		}
	}
	return out
}

// families divides a count by the versions of IP.
func families(all uint64) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		_ = yield("ipv4", all-all/7) && yield("ipv6", all/7) && yield("all", all)
	}
}

// past is the history of a run that has shown itself for a minute, and for much longer
// has not.
func past() *history {
	var h history
	for second := 8_000; second <= 8_070; second++ {
		h.add(sample(second))
	}
	return &h
}
