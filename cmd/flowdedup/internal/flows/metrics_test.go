// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/metricstest"
)

var update = flag.Bool("update", false, "write the metrics of testdata instead of checking them")

// wholeFlows is a sample of a run on flow records that does everything.
func wholeFlows() *summary {
	return &summary{
		RecordsIn: 77, RecordsOut: 70, Copies: 7, BytesIn: 7700, CopiedBytes: 700, Unchecked: 1, Undecodable: 2, Other: 3, Untimed: 4, Foreign: 5,
		Unread: []unreadSummary{{Field: "bytes", Values: 6}}, Counts: records.Counts{Messages: 8, Waiting: 9, Lost: 10, Replayed: 11, Restarts: 12, Reassembled: 13, Fragments: 14},
		Sampled: 15, Dropped: 16, Late: 17, MemoryBytes: 18, MemoryLimit: 24, Early: 25, NoRoom: 26,
		Points: []pointSummary{
			{"192.0.2.1 domain 1", match.PointCounts{Records: 70, Offset: 1500}},
			{"b\"\n", match.PointCounts{Records: 7, Copies: 7}},
		},
		ReceiverStats: &pcapoverip.ReceiverStats{Peers: 19, Connected: 20, PeersDropped: 21},
		Relayed:       &relaySummary{To: "udp://192.0.2.9:2055", Messages: 22, Failed: 23},
		Failing:       []string{"state x: disk full"},
		Took:          99500 * time.Millisecond,
	}
}

// TestFlowMetrics compares the metrics of a run on flow records with testdata (-update writes it), whose
// names contrib/check checks, and checks their order.
func TestFlowMetrics(t *testing.T) {
	all := allMetrics()
	text := metricstest.Write(t, all, &status{wholeFlows(), time.Unix(1_700_000_100, 0)})
	want, err := os.ReadFile("testdata/metrics.txt")
	if *update {
		err = os.WriteFile("testdata/metrics.txt", text, 0o644)
		want = text
	}
	if err != nil || string(want) != string(text) {
		t.Errorf("%v: metrics\n%s\nwant\n%s", err, text, want)
	}
	if families := metricstest.Parse(t, text); len(families) != len(all) {
		t.Errorf("%d metrics of %d", len(families), len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b web.Metric[*status]) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("they are not sorted")
	}
	metricstest.Parse(t, metricstest.Write(t, all, &status{summary: new(summary)}))
}
