// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones are needed on machines without them, too

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLandmarkDays compares with the model over days among which is a day of 23 or 25 hours. The date
// of a packet is what its local time says.
func TestLandmarkDays(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, begin := range []string{"2024-10-25T12:00:00Z", "2024-03-29T12:00:00Z"} {
		from, err := time.Parse(time.RFC3339, begin)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(7, 7))
		packets, stream := clitest.RandomStream(rng, 60, 2, time.Microsecond), []clitest.Seen(nil)
		for i := range 600 { // ten minutes apart, and out of order by up to an hour
			p := packets[rng.IntN(len(packets))]
			p.Time = from.UnixNano() + int64(i)*int64(10*time.Minute) - rng.Int64N(int64(time.Hour))
			stream = append(stream, p)
		}
		date := func(p *clitest.Seen) string { return time.Unix(0, p.Time).In(berlin).Format(time.DateOnly) }
		m := dedupModel{identity: "l3", duration: 24 * time.Hour, landmark: true, zone: "Europe/Berlin", group: date}
		name := clitest.WriteStream(t, stream, 2)
		checkModel(t, &m, name, stream)
		days := map[string]bool{}
		for i := range stream {
			days[date(&stream[i])] = true
		}
		if len(days) < 4 {
			t.Errorf("only %d days", len(days))
		}
		kept, _ := m.split(stream)
		m.zone = "UTC"
		if out, errs, code := clitest.Run(append([]string{"dedup"}, append(m.args(), name)...)...); code != cli.ExitDone || !strings.Contains(out, "in landmark windows of 24h\n") || strings.Contains(out, " 0 duplicates") {
			t.Errorf("%d, %s%s", code, out, errs)
		}
		if r := clitest.RunDedup(t, cli.ExitDone, append(m.args(), name)...); r.PacketsOut == uint64(len(kept)) {
			t.Errorf("days of UTC keep %d packets, and those of Berlin as many", len(kept))
		}
	}
}
