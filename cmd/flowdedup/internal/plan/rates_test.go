// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// A prediction holds if a run is within the error that the model states, plus five standard
// deviations of the number of trials (1 in 3.5 million).

// madeStream are the numbers of packets: equal ones are copies. Packet i comes i
// microseconds after the first.
type madeStream []int

// newMadeStream copies the packet at a lag of 1 to 8,192, evenly on a logarithmic scale, or
// makes a new one.
func newMadeStream(n int, fresh float64, seed uint64) madeStream {
	random := rand.New(rand.NewPCG(seed, 4))
	s := make(madeStream, n)
	for i := range s {
		lag := int(math.Exp(random.Float64() * math.Log(1<<13)))
		if s[i] = i; i >= lag && random.Float64() >= fresh {
			s[i] = s[i-lag]
		}
	}
	return s
}

// newMadePopulation draws packets of a fixed population.
func newMadePopulation(n, members int, seed uint64) madeStream {
	random := rand.New(rand.NewPCG(seed, 4))
	s := make(madeStream, n)
	for i := range s {
		s[i] = random.IntN(members)
	}
	return s
}

// madeBegin is the second of the first packet, at the begin of an hour.
const madeBegin = 1_800_000_000

// write makes a capture of UDP packets from the source address that is their number, with
// equal bytes for equal numbers.
func (s madeStream) write(t *testing.T) string {
	t.Helper()
	const size = 60
	p := clitest.NewPcap(1)
	for i, number := range s {
		frame := make([]byte, size)
		copy(frame[12:], []byte{8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 192, 0, 2, 1, 16, 0, 16, 1, 0, 26})
		binary.BigEndian.PutUint32(frame[26:], uint32(number))
		p.Add(madeBegin*1e9+int64(i)*1000, frame)
	}
	return p.Write(t, "made.pcap")
}

// kept runs a command of "plan" on the stream and returns which packets are left.
func (s madeStream) kept(t *testing.T, command, in string) []bool {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kept.pcap")
	words := append(strings.Fields(command)[1:], "--key", strings.Repeat("42", 32), "-w", name, "--quiet", in)
	if _, errs, code := clitest.Run(words...); code != cli.ExitDone {
		t.Fatalf("%q: exit code %d, %s", words, code, errs)
	}
	kept := make([]bool, len(s))
	for _, r := range clitest.ReadAll(t, name) {
		kept[r.Time/1000-madeBegin*1_000_000] = true
	}
	return kept
}

// madeRates are measured rates, and of how many packets.
type madeRates struct{ fpr, news, fnr, repeats float64 }

// rates compares the kept packets with a window of packets, 0 for none. A copy is a packet
// whose latest equal one that was kept, or with refresh that came at all, lies within the
// window. A packet is new if no equal one came within the window and blur.
func (s madeStream) rates(kept []bool, window, blur int, refresh bool) (r madeRates) {
	if window == 0 {
		window, refresh = len(s), true
	}
	anchor, last := map[int]int{}, map[int]int{}
	for i, number := range s {
		at, found := anchor[number]
		before, came := last[number]
		last[number] = i
		if kept[i] || refresh {
			anchor[number] = i
		}
		switch {
		case found && i-at <= window:
			r.repeats++
			if kept[i] {
				r.fnr++
			}
		case !came || i-before > window+blur:
			r.news++
			if !kept[i] {
				r.fpr++
			}
		}
	}
	r.fpr, r.fnr = r.fpr/math.Max(1, r.news), r.fnr/math.Max(1, r.repeats)
	return r
}

// within checks a rate of n trials against its prediction.
func within(t *testing.T, what string, predicted, measured, off, n float64, bound bool) {
	t.Helper()
	slack := off*predicted + 5*math.Sqrt(predicted*(1-predicted)/math.Max(1, n)) + 3/math.Max(1, n)
	if measured > predicted+slack || !bound && measured < predicted-slack {
		t.Errorf("%s: predicted %.4g, measured %.4g, %+.1f %%", what, predicted, measured, 100*(measured/predicted-1))
	}
}

// TestPlanRates runs every command of plans of a made stream, recommended or not, and
// compares both rates.
func TestPlanRates(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const packets = 75_000
	lags := newMadeStream(packets, 0.6, 7)
	few := newMadeStream(packets, 0.3, 8)
	members := newMadePopulation(packets, 3000, 9)
	for _, c := range []struct {
		name    string
		stream  madeStream
		args    string
		window  int
		refresh bool
		off     float64 // what the documentation states
	}{
		{"count", lags, "--window n:8192 --memory 32KiB --fpr 10%", 8192, false, 0.1},
		{"count, refreshed", lags, "--window n:8192 --refresh --memory 32KiB --fpr 10%", 8192, true, 0.1},
		{"sliding", lags, "--window 8192us --memory 64KiB --fpr 5%", 8192, false, 0.1},
		{"sliding, few new", few, "--window 8192us --memory 16KiB --fpr 50%", 8192, false, 0.2},
		{"population", members, "--window 8192us --memory 16KiB --fpr 50%", 8192, false, 0.1},
		{"none", lags, "--memory 8KiB --fpr 50%", 0, true, 0.1},
		{"none, 1 %", few, "--memory 8KiB --fpr 1%", 0, true, 0.1},
		{"none, large", lags, "--memory 64KiB --fpr 20%", 0, true, 0.15},
		{"population, none", members, "--memory 4KiB --fpr 5%", 0, true, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.stream.write(t)
			r := runPlan(t, append(strings.Fields(c.args), "--from", in)...)
			ran := 0
			for _, p := range r.Candidates {
				if p.Command == nil || p.FNR == nil {
					continue
				}
				ran++
				blur := 0
				switch p.Method {
				case "coarse":
					blur = c.window/63 + 1
				case "fine":
					blur = c.window/16 + 1
				}
				m := c.stream.rates(c.stream.kept(t, *p.Command, in), c.window, blur, c.refresh)
				off := c.off
				if p.Method == "fine" && c.name == "sliding, few new" { // busy packets stay busy
					off = 1
				}
				within(t, p.Method+" FPR", *p.FPR, m.fpr, off, m.news, p.FPRKind == "bound")
				if p.Method == "sbf" && strings.HasPrefix(c.name, "population") {
					off = 0.3
				}
				trials := m.repeats
				if strings.HasPrefix(c.name, "population") { // its packets stay in their lines, 20 in each at most
					trials = math.Min(trials, 20**p.MemoryBytes/64)
				}
				within(t, p.Method+" FNR", *p.FNR, m.fnr, off, trials, false)
			}
			if ran == 0 || r.Command == nil {
				t.Error("nothing to run")
			}
		})
	}
}

// TestFPRBuysMisses gives up a rate of false positives that hardly matters, in the same
// memory: fewer copies remain, and the summary says what it cost. Verdicts are those of any
// number of workers.
func TestFPRBuysMisses(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and TestWorkers has as many goroutines")
	}
	const packets, window = 150_000, 8192
	stream := newMadeStream(packets, 0.6, 7)
	in := stream.write(t)
	missed := map[string]float64{}
	for _, fpr := range []string{"1e-10", "1e-9", "1e-4"} {
		command := "flowdedup dedup --window 8192us --memory 32KiB --fpr " + fpr
		kept := stream.kept(t, command+" --workers 1", in)
		if !slices.Equal(kept, stream.kept(t, command+" --workers 3", in)) {
			t.Errorf("%s: other verdicts with more workers", fpr)
		}
		missed[fpr] = stream.rates(kept, window, window/16+1, false).fnr
	}
	if exact, fine, coarse := missed["1e-10"], missed["1e-9"], missed["1e-4"]; exact < 0.005 || fine > exact/2 || coarse > fine/10 {
		t.Errorf("%v of the copies are missed, %v and %v with higher rates", exact, fine, coarse)
	}
	for _, c := range []struct {
		fpr, method     string
		most, low, high float64
	}{{"1e-9", "fine", 1e-9, 0.031, 0.033}, {"1e-4", "coarse", 1.2e-6, 0.0078, 0.0081}} {
		r := clitest.RunDedup(t, cli.ExitDone, "--window", "8192us", "--memory", "32KiB", "--fpr", c.fpr, in)
		if r.Method != c.method || r.PredictedFPR > c.most || r.EdgeError < c.low || r.EdgeError > c.high {
			t.Errorf("--fpr %s: %+v", c.fpr, r)
		}
	}
}

// TestPlanCounts runs the commands of plans for keys: the listed keys are new ones less false
// positives, and missed repeats.
func TestPlanCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and of one goroutine")
	}
	const packets = 100_000
	stream := newMadeStream(packets, 0.6, 11)
	in := stream.write(t)
	fresh := 0.0
	for i, number := range stream {
		if number == i {
			fresh++
		}
	}
	for _, args := range []string{
		"--of flow --window none --kind landmark --fpr 1%", "--of flow --window none --kind landmark", "--of src --window none --kind landmark",
		"--of flow --memory 16KiB --fpr 5%", "--of pair --window none --kind landmark --fpr 0.1%",
	} {
		r := runPlan(t, append(strings.Fields(args), "--from", in)...)
		if r.Command == nil {
			t.Errorf("%s: no command", args)
		}
		for _, p := range r.Candidates {
			if p.Command == nil || p.FNR == nil {
				continue
			}
			words := append(strings.Fields(*p.Command)[1:], "--key", strings.Repeat("42", 32), "--list", "--json", in)
			out, errs, code := clitest.Run(words...)
			if code != cli.ExitDone {
				t.Fatalf("%q: exit code %d, %s", words, code, errs)
			}
			listed := 0.0
			for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
				var row struct{ Value string }
				if err := dec.Decode(&row); err != nil {
					t.Fatal(err)
				}
				if row.Value != "" {
					listed++
				}
			}
			share := (fresh*(1-*p.FPR) + (packets-fresh)**p.FNR) / packets
			off := 0.1 * ((1-fresh/packets)**p.FNR + fresh/packets**p.FPR) / share
			what := fmt.Sprintf("%s: %s: share that is listed", args, p.Method)
			if p.FPRKind == "bound" { // the rate is between 0 and this
				off += fresh / packets * *p.FPR / share
			}
			deviation := 5 * math.Sqrt(packets*((1-fresh/packets)**p.FNR+fresh/packets**p.FPR))
			if math.Abs(listed-share*packets) > off*share*packets+deviation+0.5 {
				t.Errorf("%s: predicted %.5g, measured %.5g", what, share*packets, listed)
			}
		}
	}
}

// TestPlanCases expects text to say for what streams numbers hold, where they do not hold for all.
func TestPlanCases(t *testing.T) {
	in := newMadePopulation(20_000, 3000, 9).write(t)
	const exact, comes, evenly = "exact: the least memory", "FNR of timed, fine: of elements that come all the time", "that come equally often"
	for args, want := range map[string]string{
		"--window 10ms --rate 1M --distinct 30%":           exact + "|" + comes,
		"--window 10ms --rate 1M --distinct 30% --refresh": exact,
		"--window 10ms --rate 1M":                          exact,
		"--window n:1000":                                  "",
		"--of flow --window 1h --elements 1M":              "",
		"--memory 8KiB --fpr 1% --from " + in:              evenly,
	} {
		out, errs, code := clitest.Run(append([]string{"plan"}, strings.Fields(args)...)...)
		if code != cli.ExitDone {
			t.Fatalf("%s: exit code %d, %s", args, code, errs)
		}
		out = strings.Join(strings.Fields(out), " ")
		for _, sentence := range []string{exact, comes, evenly} {
			if got := strings.Contains(out, sentence); got != slices.Contains(strings.Split(want, "|"), sentence) {
				t.Errorf("%s: %q is there: %v\n%s", args, sentence, got, out)
			}
		}
	}
}

// TestPlanSmallFilters runs commands of less than a MiB: each has the memory that its row states, but
// for counters of the filter.
func TestPlanSmallFilters(t *testing.T) {
	in := newMadePopulation(5000, 3000, 9).write(t)
	for _, args := range []string{"--window n:200 --memory 1800 --fpr 50%", "--window 300us --rate 1M", "--memory 1400 --fpr 50%"} {
		for _, p := range runPlan(t, strings.Fields(args)...).Candidates {
			if p.Command == nil || p.Method == "exact" || p.Method == "sbf" {
				continue
			}
			out, errs, code := clitest.Run(append(strings.Fields(*p.Command)[1:], "--json", in)...)
			if code != cli.ExitDone {
				t.Fatalf("%s: exit code %d, %s", *p.Command, code, errs)
			}
			var ran struct {
				MemoryBytes float64 `json:"memory_bytes"`
			}
			if err := json.Unmarshal([]byte(out), &ran); err != nil {
				t.Fatal(err)
			}
			if more := ran.MemoryBytes - *p.MemoryBytes; more < 0 || more > math.Max(64, *p.MemoryBytes/50) {
				t.Errorf("%s: planned %v bytes, it takes %v", *p.Command, *p.MemoryBytes, ran.MemoryBytes)
			}
		}
	}
}

// TestPlanWidth expects lines of at most 100 columns, in which one column has one unit.
func TestPlanWidth(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for _, args := range clitest.Sample(4, []string{
		"--memory 1MiB --fpr 1%", "--of flow --memory 1MiB --fpr 10%", "--window 5m --rate 1M --distinct 2M", "--window 10ms --elements 15k --memory 512KiB",
		"--window 1h --elements 100M --fpr 1e-6", "--of src --window 1h --elements 3M", "--window n:1000", "--from " + in, "--fpr 1e-12",
		"--of biflow --kind sliding --window 1h --elements 1G --distinct 3M", "--of flow --window 1h --elements 1M --memory 1KiB",
	}) {
		out, errs, code := clitest.Run(append([]string{"plan"}, strings.Fields(args)...)...)
		if code != cli.ExitDone {
			t.Fatalf("%s: exit code %d, %s", args, code, errs)
		}
		var method string
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
			if name, rest, _ := strings.Cut(line, " "); method == "" && name == "method" {
				method = rest
			}
		}
		if method == "" || strings.Contains(out, " bits of") {
			t.Errorf("%s: %s", args, out)
		}
	}
}
