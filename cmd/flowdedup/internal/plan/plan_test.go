// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/plan"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// runPlan returns the JSON form of an answer.
func runPlan(t *testing.T, args ...string) plan.Result {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"plan", "--json"}, args...)...)
	if code != cli.ExitDone || errs != "" {
		t.Fatalf("%q: exit code %d, stderr %q", args, code, errs)
	}
	var r plan.Result
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Errorf("more than one object: %v", err)
	}
	return r
}

// TestPlanQuestions runs the questions of the help text.
func TestPlanQuestions(t *testing.T) {
	for _, c := range clitest.Sample(6, []struct {
		args                  string
		kind, method, command string
		elements              float64
	}{
		{"--of flow --memory 64KiB --fpr 1%", "unbounded", "lru", "flowdedup distinct --of flow --every none --method lru --memory 64KiB --fpr 0.01", 1 << 24},
		{"--memory 1MiB", "unbounded", "lru", "flowdedup dedup --window none --method lru --memory 1MiB", 1 << 24},
		{"--rate 1.5M --window 10ms", "sliding", "timed", "flowdedup dedup --window 10ms --memory 337KiB", 15_000},
		{"--of src --window 1h --link 10Gb/s --distinct 3M", "landmark", "exact-rows", "flowdedup distinct --of src --every 1h", 53_571_428_571},
		{"--of flow --window 1h --elements 1M --memory 16MiB --fpr 1e-12", "landmark", "digest-rows", "flowdedup distinct --of flow --every 1h", 1e6},
		{"--of flow --window 1h --elements 1M --memory 24MiB --fpr 1e-12", "landmark", "digest-rows", "flowdedup distinct --of flow --every 1h --memory 24MiB", 1e6},
		{"--of flow --window 1h --elements 1G --distinct 0.1% --fpr 1e-6", "landmark", "bloom-lines", "flowdedup distinct --of flow --every 1h --method bloom --memory 5729KiB --fpr 1e-06", 1e9},
		{"--of src --window 1h --kind sliding --elements 3M", "sliding", "sliding-rows", "flowdedup distinct --of src --every 1h --slide 1m --memory 64MiB", 3e6},
		{"--window 5m --kind sliding --rate 1M --distinct 2M", "sliding", "timed", "flowdedup dedup --window 5m --memory 44003KiB", 300e6},
		{"--window 5m --rate 1M --distinct 2M --refresh", "sliding", "timed", "flowdedup dedup --window 5m --refresh --memory 44905KiB", 300e6},
		{"--of src --window 1h --kind sliding --rate 1M --distinct 100k", "sliding", "sliding-rows", "flowdedup distinct --of src --every 1h --slide 1m --memory 2MiB", 3.6e9},
		{"--window n:1000000 --distinct 30%", "count", "timed", "flowdedup dedup --window n:1000000 --memory 5390KiB", 1e6},
		{"--rate 400k --window 50ms --fpr 1e-4 --memory 256KiB", "sliding", "coarse", "flowdedup dedup --window 50ms --method coarse --memory 256KiB", 20_000},
		{"--rate 400k --window 50ms --fpr 1e-4 --memory 16MiB", "sliding", "timed", "flowdedup dedup --window 50ms --memory 16MiB", 20_000},
	}) {
		r := runPlan(t, strings.Fields(c.args)...)
		command := ""
		if r.Command != nil {
			command = *r.Command
		}
		if r.Recommended == nil || *r.Recommended != c.method || command != c.command || r.Kind != c.kind || r.Reason == "" {
			t.Errorf("%s: %v, command %q, kind %s, reason %q", c.args, r.Recommended, command, r.Kind, r.Reason)
		}
		if ratio := r.Elements / c.elements; ratio < 0.999 || ratio > 1.001 {
			t.Errorf("%s: %g elements", c.args, r.Elements)
		}
		for _, one := range r.Candidates {
			if (one.Command == nil) != (one.MemoryBytes == nil) {
				t.Errorf("%s: %s has no command, though it fits", c.args, one.Method)
			}
		}
		first := r.Candidates[0]
		if !first.Meets || *first.FPR > r.FPR || *first.MemoryBytes <= 0 || *first.NeededBytes <= 0 || *first.CacheLines < 1 ||
			len(first.Parameters) == 0 || len(first.Curve) < 10 || first.Title == "" || first.Source == "" || first.FPRKind == "" || first.Command == nil {
			t.Errorf("%s: %+v", c.args, first)
		}
	}
}

// TestPlanCommandsRun runs the commands of plans on a capture. Filters without a window
// report the planned rate.
func TestPlanCommandsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	in := clitest.Bundled("router-plain.pcapng")
	ran := map[string]bool{}
	for _, args := range []string{
		"--window 10ms", "--window n:100", "--window none --memory 1MiB", "--window 10ms --fpr 1e-12",
		"--of src --window 1h", "--of ip --window none --kind landmark", "--of flow --window 1h --fpr 0.1%", "--of mac --window 1h", "--of src --window 7s --kind sliding",
		"--of flow --memory 64KiB --fpr 1%", "--of mac --memory 1MiB", "--fpr 3% --memory 8KiB",
		"--fpr 30% --memory 64KiB", "--window n:200 --fpr 1% --memory 64KiB",
	} {
		r := runPlan(t, append(strings.Fields(args), "--from", in)...)
		commands := 0
		for _, c := range r.Candidates {
			if c.Command == nil {
				continue
			}
			commands++
			words := append(strings.Fields(*c.Command)[1:], "--json", in)
			out, errs, code := clitest.Run(words...)
			if code != cli.ExitDone {
				t.Errorf("%s: %s: exit code %d, stderr %q", args, *c.Command, code, errs)
			}
			if ran[c.Method] = true; !stream.IsMethod(c.Method) || words[0] != "dedup" {
				continue
			}
			var summary struct {
				PredictedFPR float64 `json:"predicted_fpr"`
			}
			if err := json.Unmarshal([]byte(out), &summary); err != nil || summary.PredictedFPR != *c.FPR {
				t.Errorf("%s: %s: FPR %g, planned %g, %v", args, *c.Command, summary.PredictedFPR, *c.FPR, err)
			}
		}
		if commands == 0 {
			t.Errorf("%s: nothing to run", args)
		}
	}
	for _, method := range []string{"timed", "coarse", "fine", "lru", "sbf", "exact", "sliding-rows", "exact-rows", "digest-rows", "bloom-lines"} {
		if !ran[method] {
			t.Errorf("no plan had a command for %s", method)
		}
	}
}

// TestPlanFrom compares measurements with the results of other commands on a capture.
func TestPlanFrom(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	packets := clitest.RunDedup(t, cli.ExitDone, "--window", "none", "--method", "exact", in)
	r := runPlan(t, "--from", in, "--memory", "l2")
	m := r.Measured
	if m == nil || m.Packets != packets.PacketsIn || m.Elements != packets.PacketsIn || m.SampledShare != 1 {
		t.Fatalf("measured %+v of %d packets", m, packets.PacketsIn)
	}
	fresh := float64(packets.PacketsIn-packets.Duplicates) / float64(packets.PacketsIn)
	if diff := m.DistinctShare - fresh; diff < -1e-9 || diff > 1e-9 || r.DistinctShare != m.DistinctShare {
		t.Errorf("share of new packets %g, de-duplication says %g", m.DistinctShare, fresh)
	}
	for _, bins := range [][]plan.GapBin{m.Gaps, m.TimeGaps} {
		sum := 0.0
		for _, b := range bins {
			sum += b.Share
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("shares of gaps add up to %g: %v", sum, bins)
		}
	}
	half := runPlan(t, "--from", in, "--window", "10ms", "--rate", "1M", "--distinct", "50%")
	if half.Elements != 10_000 || math.Abs(half.WindowDistinct/5000-1) > 0.01 {
		t.Errorf("%g elements, %g different, which flags say otherwise", half.Elements, half.WindowDistinct)
	}
}

// TestPlanFalseTime measures the rate of a stream with one packet of 1970 and one of
// 2100. One of them is the first packet.
func TestPlanFalseTime(t *testing.T) {
	stream := clitest.RandomStream(rand.New(rand.NewPCG(3, 3)), 300, 1, time.Second)
	want := runPlan(t, "--from", clitest.WriteStream(t, stream, 1), "--window", "1s").Measured
	for _, at := range clitest.Sample(2, []int{0, 150, 300}) {
		for _, year := range []int{1970, 2100} {
			odd := stream[0]
			odd.Time = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
			in := clitest.WriteStream(t, slices.Insert(slices.Clone(stream), at, odd), 1)
			got := runPlan(t, "--from", in, "--window", "1s").Measured
			if got.Duration != want.Duration || math.Abs(got.Rate/want.Rate-1) > 0.01 || got.WindowElements > want.WindowElements+1 {
				t.Errorf("%d at %d: %+v, want %+v", year, at, got, want)
			}
		}
	}
}

// TestPlanShows expects three methods that meet the request at most, the nearest ones if none does,
// and all with --all.
func TestPlanShows(t *testing.T) {
	for args, want := range map[string]string{
		"--rate 1M --window 10ms --fpr 1e-4":                      "coarse timed fine|exact",
		"--rate 1M --window 10ms --fpr 1e-4 --all":                "coarse timed fine exact|",
		"--rate 1M --window 10ms --memory 64KiB":                  "timed|fine, coarse, exact",
		"--of flow --window 1h --elements 1M --memory 1KiB":       "bloom-lines digest-rows exact|",
		"--rate 1M --window 10ms --fpr 1e-12":                     "timed exact|",
		"--rate 1M --window 10ms --fpr 1e-13 --memory 64KiB":      "timed fine coarse|exact",
		"--of src --window 1h --elements 1M --memory 8MiB --all":  "exact-rows exact|",
		"--of flow --memory 1MiB --fpr 1e-30":                     "lru|",
		"--memory 1MiB --fpr 1e-30":                               "lru timed sbf|",
		"--of src --kind sliding --window 1h --elements 1M --all": "sliding-rows exact|",
	} {
		shown, hidden, _ := strings.Cut(want, "|")
		name := filepath.Join(t.TempDir(), "plan.html")
		out, errs, code := clitest.Run(append([]string{"plan", "--html", name}, strings.Fields(args)...)...)
		if code != cli.ExitDone || errs != "" {
			t.Fatalf("%s: exit code %d, %s", args, code, errs)
		}
		var rows []string
		lines := strings.Split(out, "\n")
		for _, line := range lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "method ") })+1:] {
			word, _, _ := strings.Cut(line, " ")
			if word == "≤:" || strings.HasSuffix(word, ":") || word == "no" {
				break
			}
			rows = append(rows, word)
		}
		if got := strings.Join(rows, " "); got != shown || strings.Contains(out, "--all shows "+hidden+", too") != (hidden != "") {
			t.Errorf("%s: %q, want %q, then %q:\n%s", args, got, shown, hidden, out)
		}
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(clitest.Unwrapped(string(page)), "--all shows") != (hidden != "") {
			t.Errorf("%s: the page shows other methods", args)
		}
	}
}

// TestPlanPopulation runs the commands of a plan that only knows how many packets differ, for a
// population that crowds the filter all the time.
func TestPlanPopulation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const packets, window, members = 800_000, 131_072, 6554
	stream := newMadePopulation(packets, members, 9)
	in := stream.write(t)
	ran := 0
	for _, p := range runPlan(t, strings.Fields("--window 131072us --rate 1M --distinct 5% --memory 64KiB --fpr 1e-4")...).Candidates {
		if p.Command == nil || p.FNR == nil || *p.FNR == 0 {
			continue
		}
		ran++
		m := stream.rates(stream.kept(t, *p.Command, in), window, window/16+1, false)
		lines := *p.MemoryBytes / 64 // of 13 one is spare, and up to a tenth of the copies in it are missed
		within(t, p.Method+" FNR", *p.FNR, m.fnr, 0.2, 10*lines/13, false)
	}
	if ran < 2 {
		t.Errorf("%d commands ran", ran)
	}
}

func TestScripts(t *testing.T) { clitest.Scripts(t) }
