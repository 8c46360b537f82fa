// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
)

// runFlows runs flows, and checks its exit code.
func runFlows(t *testing.T, code int, args ...string) (r flows.Summary, stderr string) {
	t.Helper()
	out, errs, got := clitest.Run(append([]string{"flows", "--json"}, args...)...)
	if got != code {
		t.Fatalf("flows %v: exit code %d, want %d: %s", args, got, code, errs)
	}
	return parseFlows(t, out), errs
}

func parseFlows(t *testing.T, text string) (r flows.Summary) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err, text)
	}
	return r
}

// tempFile writes a file of a test.
func tempFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two exporters report the same flow; the first also reports another one, twice.
const goflowLines = `{"type":"IPFIX","sampler_address":"192.0.2.1","time_flow_start_ns":1700000000000000000,"time_flow_end_ns":1700000009000000000,"bytes":1000,"packets":10,"src_addr":"10.0.0.1","dst_addr":"10.0.0.2","proto":6,"src_port":1234,"dst_port":443}
{"type":"IPFIX","sampler_address":"192.0.2.2","time_flow_start_ns":1700000000010000000,"time_flow_end_ns":1700000009010000000,"bytes":2000,"packets":10,"src_addr":"10.0.0.1","dst_addr":"10.0.0.2","proto":6,"src_port":1234,"dst_port":443}
{"type":"IPFIX","sampler_address":"192.0.2.1","time_flow_start_ns":1700000010000000000,"time_flow_end_ns":1700000010000000000,"bytes":80,"packets":1,"src_addr":"10.0.0.3","dst_addr":"10.0.0.4","proto":17,"src_port":53,"dst_port":99}
{"type":"IPFIX","sampler_address":"192.0.2.1","time_flow_start_ns":1700000010000000000,"time_flow_end_ns":1700000010000000000,"bytes":80,"packets":1,"src_addr":"10.0.0.3","dst_addr":"10.0.0.4","proto":17,"src_port":53,"dst_port":99}
`

func mustReadFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFlowsDistinct counts the keys of records in each window that they touch, against a
// count by maps.
func TestFlowsDistinct(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var lines strings.Builder
	type key struct{ window, of, value string }
	want, inWindow := map[key]bool{}, map[[2]string]uint64{}
	const hour = int64(3600e9)
	for n := range 5000 {
		start := (1_700_000_000e9 + int64(n)*4e9) - rng.Int64N(60e9)
		end := start + []int64{0, 30e9, 300e9}[rng.IntN(3)]
		src, dst := fmt.Sprintf("10.0.0.%d", rng.IntN(250)), fmt.Sprintf("10.1.%d.%d", rng.IntN(9), rng.IntN(250))
		if rng.IntN(4) == 0 {
			src, dst = fmt.Sprintf("2001:db8::%x", rng.IntN(50)), "2001:db8::1:1"
		}
		fmt.Fprintf(&lines, `{"type":"IPFIX","sampler_address":"192.0.2.%d","time_flow_start_ns":%d,"time_flow_end_ns":%d,"bytes":80,"packets":1,"src_addr":%q,"dst_addr":%q,"proto":17,"src_port":53,"dst_port":99}`+"\n", n%2, start, end, src, dst)
		family := "ipv4"
		if strings.Contains(src, ":") {
			family = "ipv6"
		}
		for at := start / hour * hour; at <= end; at += hour {
			window := time.Unix(0, at).UTC().Format(time.RFC3339)
			for of, value := range map[string]string{"src": src, "pair": src + dst} {
				if one := (key{window, of + " " + family, value}); !want[one] {
					want[one] = true
					inWindow[[2]string{window, one.of}]++
				}
			}
		}
	}
	reports := filepath.Join(t.TempDir(), "counts")
	runFlows(t, cli.ExitDone, tempFile(t, "in.json", lines.String()), "--of", "src,pair", "--reports", reports)
	got := map[[2]string]uint64{}
	for line := range strings.Lines(string(mustReadFile(t, reports))) {
		var row struct {
			WindowStart string `json:"window_start"`
			Of, Family  string
			Distinct    uint64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err, line)
		}
		at, err := time.Parse(time.RFC3339Nano, row.WindowStart)
		if err != nil {
			t.Fatal(err)
		}
		if row.Family != "all" {
			got[[2]string{at.Format(time.RFC3339), row.Of + " " + row.Family}] += row.Distinct
		}
	}
	if !maps.Equal(got, inWindow) {
		t.Errorf("%v, want %v", got, inWindow)
	}
}

// TestFlowsState resumes a run: records of the last run are copies now, and templates are
// known.
func TestFlowsState(t *testing.T) {
	t.Parallel()
	for policy, other := range map[string]string{"owner": "record", "record": "owner", "merge": "record", "mark": "record"} {
		t.Run(policy, func(t *testing.T) { checkFlowsState(t, policy, other) })
	}
}

// checkFlowsState resumes a run, and refuses what cannot be resumed.
func checkFlowsState(t *testing.T, policy, otherPolicy string) {
	t.Parallel()
	lines := strings.SplitAfter(goflowLines, "\n")
	state := filepath.Join(t.TempDir(), "state")
	one, other := tempFile(t, "1.json", lines[0]), tempFile(t, "2.json", lines[1])
	runFlows(t, cli.ExitDone, one, "--state", state, "--policy", policy, "--memory", "1MiB")
	first := mustReadFile(t, state)
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if r, _ := runFlows(t, cli.ExitDone, other, "--state", state, "--policy", policy, "--memory", "1MiB"); r.Copies != 1 || len(r.Points) != 2 || r.Matrix[0].Original != "192.0.2.1" {
		t.Errorf("%+v", r)
	}
	whole := mustReadFile(t, state)
	check := func(name string, content []byte, args ...string) {
		t.Helper()
		if err := os.WriteFile(state, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"flows", one, "--memory", "1MiB", "--state", state}, args...)
		if _, stderr, code := clitest.Run(args...); code != cli.ExitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--state "+state+": cannot be resumed") {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		if now := mustReadFile(t, state); !bytes.Equal(now, content) {
			t.Errorf("%s: the file was changed", name)
		}
		stdout, stderr, code := clitest.Run(append(args, "--json", "--state-mismatch", "begin")...)
		if !bytes.HasPrefix(content, []byte("FLOWRECS")) { // it may be anything else
			if now := mustReadFile(t, state); code != cli.ExitUsage || !bytes.Equal(now, content) {
				t.Errorf("%s: begun anew: exit code %d: %s", name, code, stderr)
			}
			return
		}
		if code != cli.ExitDone || !strings.Contains(stderr, "begins anew") || !strings.Contains(stderr, state+".mismatch_001") || !strings.Contains(stdout, `"duplicates":0`) {
			t.Errorf("%s: begun anew: exit code %d: %s%s", name, code, stderr, stdout)
		}
		if kept := mustReadFile(t, state+".mismatch_001"); !bytes.Equal(kept, content) {
			t.Errorf("%s: the file was not kept", name)
		}
		if err := os.Remove(state + ".mismatch_001"); err != nil {
			t.Error(err)
		}
		if _, stderr, code := clitest.Run(args...); code != cli.ExitDone {
			t.Errorf("%s: what was begun anew is not resumed: %s", name, stderr)
		}
	}
	check("another key", whole, "--policy", policy, "--flow-key", "biflow")
	check("another point", whole, "--policy", policy, "--point", "direction")
	check("another policy", whole, "--policy", otherPolicy)
	for at := 0; at < len(whole); at += 1 + len(whole)/50 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		check(fmt.Sprint("byte ", at), damaged, "--policy", policy)
	}
	check("half of it", whole[:len(whole)/2], "--policy", policy)
	check("text", []byte("x"), "--policy", policy)
	for _, memory := range []string{"2MiB", "512KiB"} {
		if err := os.WriteFile(state, first, 0o600); err != nil {
			t.Fatal(err)
		}
		r, stderr := runFlows(t, cli.ExitDone, other, "--state", state, "--policy", policy, "--memory", memory)
		if r.Copies != 1 || !strings.Contains(stderr, "flows keep the memory that they were saved with") {
			t.Errorf("--memory %s: %+v: %s", memory, r, stderr)
		}
	}
}

// TestFlowsOrder judges two inputs by time, whatever their order on the command line.
func TestFlowsOrder(t *testing.T) {
	var a, b bytes.Buffer
	for n := range 20 {
		for i, w := range []*bytes.Buffer{&a, &b} {
			start := int64(1700000000+30*n)*1e9 + int64(i)*1e7
			line, err := json.Marshal(map[string]any{
				"type": "IPFIX", "time_flow_start_ns": start, "time_flow_end_ns": start, "bytes": 80, "packets": 1,
				"src_addr": "10.0.0.3", "dst_addr": "10.0.0.4", "proto": 17, "src_port": 53, "dst_port": 99,
			})
			if err != nil {
				t.Fatal(err)
			}
			w.Write(append(line, '\n'))
		}
	}
	one, other := tempFile(t, "a.json", a.String()), tempFile(t, "b.json", b.String())
	for _, inputs := range [][]string{{one, other}, {other, one}} {
		r, _ := runFlows(t, cli.ExitDone, inputs...)
		if r.Copies != 20 || r.RecordsIn != 40 || len(r.Points) != 2 || !slices.ContainsFunc(inputs, func(s string) bool { return s == r.Points[0].Name }) {
			t.Errorf("%+v", r)
		}
	}
}

// exported has nfpcapd make flow records of a bundled capture, and returns them as JSON.
func exported(t *testing.T, name string) string {
	t.Helper()
	for _, needed := range []string{"nfpcapd", "nfdump"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip(needed, "is not installed")
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command("nfpcapd", "-r", clitest.Bundled(name), "-w", dir).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	out, err := exec.Command("nfdump", "-R", dir, "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	return tempFile(t, name+".json", string(out))
}

// TestFlowsRouter has the flows of both sides of a router: 78 were seen on both. A single side
// has repeated keys, none of which is a copy.
func TestFlowsRouter(t *testing.T) {
	in, out := exported(t, "router-in.pcap"), exported(t, "router-out.pcap")
	for name, want := range map[string]uint64{in: 96, out: 82} {
		if r, _ := runFlows(t, cli.ExitDone, name); r.RecordsIn != want || r.Copies != 0 || r.Undecodable != 0 {
			t.Errorf("%s alone: %+v", name, r)
		}
	}
	for _, policy := range []string{"owner", "record", "merge", "mark"} {
		if r, _ := runFlows(t, cli.ExitDone, "--policy", policy, in, out); r.RecordsIn != 178 || r.Copies != 78 || len(r.Matrix) == 0 {
			t.Errorf("policy %s: %+v", policy, r)
		}
	}
}
