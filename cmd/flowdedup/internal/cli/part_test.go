// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestPart checks that each command finds in a part of a capture that is out of order what it
// finds in a capture that has only that part.
func TestPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	stream := clitest.RandomStream(rng, 600, 2, time.Second)
	for i := range stream {
		k := min(len(stream)-1, i+rng.IntN(4))
		stream[i], stream[k] = stream[k], stream[i]
	}
	whole := clitest.WriteStream(t, stream, 2)
	begin := time.Unix(0, stream[0].Time).UTC()
	from, to := begin.Add(50*time.Second), begin.Add(200*time.Second)
	const count = 120
	for name, flags := range map[string][]string{
		"offsets": {"--from", "+50s", "--to", "+200s"},
		"zoned":   {"--from", from.Format(time.RFC3339Nano), "--to", to.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)},
		"local":   {"--tz", "Asia/Kathmandu", "--from", from.Add(345 * time.Minute).Format("2006-01-02 15:04:05.999999999"), "--to", to.Add(345 * time.Minute).Format("2006-01-02T15:04:05.999999999")},
		"seconds": {"--from", fmt.Sprintf("%d.%09d", from.Unix(), from.Nanosecond()), "--to", fmt.Sprintf("%d.%09d", to.Unix(), to.Nanosecond())},
		"counted": {"--from", "+50s", "-c", fmt.Sprint(count)},
	} {
		t.Run(name, func(t *testing.T) {
			var part []clitest.Seen
			for _, p := range stream {
				if p.Time >= from.UnixNano() && (p.Time < to.UnixNano() || name == "counted") && (len(part) < count || name != "counted") {
					part = append(part, p)
				}
			}
			if len(part) < 100 || len(part) == len(stream) {
				t.Fatal("the part tests nothing")
			}
			alone, dir := clitest.WriteStream(t, part, 2), t.TempDir()
			with := func(args ...string) []string { return append(args, flags...) }
			d, want := clitest.RunDedup(t, cli.ExitDone, with(whole, "-w", dir+"/out.pcapng")...), clitest.RunDedup(t, cli.ExitDone, alone, "-w", dir+"/want.pcapng")
			if d.PacketsIn != uint64(len(part)) || d.Duplicates != want.Duplicates || name != "counted" && d.PacketsIn+d.Filtered != uint64(len(stream)) {
				t.Errorf("dedup: %+v, want %+v", d, want)
			}
			clitest.CompareRecords(t, "kept", clitest.ReadAll(t, dir+"/out.pcapng"), clitest.ReadAll(t, dir+"/want.pcapng"))
			if _, errs, code := clitest.Run(with("verify", "-q", whole, dir+"/out.pcapng")...); code != cli.ExitDone {
				t.Errorf("verify: exit code %d, %s", code, errs)
			}
			if _, _, code := clitest.Run("verify", "-q", whole, dir+"/out.pcapng"); code != cli.ExitDifferent {
				t.Errorf("verify of the whole capture: exit code %d", code)
			}
			if got, want := clitest.RunDistinct(t, with(whole)...), clitest.RunDistinct(t, alone); name != "local" && !reflect.DeepEqual(got, want) {
				t.Errorf("distinct: %v, want %v", got, want)
			}
			i, wantI := clitest.RunInspect(t, cli.ExitDone, with(whole)...), clitest.RunInspect(t, cli.ExitDone, alone)
			if i.Equal != wantI.Equal || i.Copies != wantI.Copies {
				t.Errorf("inspect: %+v, want %+v", i, wantI)
			}
			if c := i.Recommendation.Command; c != "" && !strings.Contains(c, flags[0]) && name != "counted" {
				t.Errorf("the recommended command %s reads another part", c)
			}
			if c, _ := clitest.RunCompare(t, cli.ExitDone, with(whole, whole)...); c.A.Packets != uint64(len(part)) || !c.Same {
				t.Errorf("compare: %+v", c)
			}
		})
	}
}
