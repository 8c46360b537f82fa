// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// textResult is what "flows --json" says about text besides flowsResult.
type textResult struct {
	Unread []struct {
		Field   string
		Values  uint64
		Example string
	}
	Other      uint64 `json:"other_events"`
	Untimed    uint64
	Foreign    uint64
	Inspection *struct {
		Same    uint64 `json:"same_exporter"`
		Command string
	}
}

func runText(t *testing.T, args ...string) (flowsResult, textResult, string) {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"flows", "--json"}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("flows %v: exit code %d: %s", args, code, errs)
	}
	var r textResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, out)
	}
	return parseFlows(t, out), r, errs
}

const ourMap = "src=from,dst=to,sport=sport,dport=dport,proto=proto,start=when"

// TestFlowsDates takes flows at other times for other flows, however times are written.
func TestFlowsDates(t *testing.T) {
	const header = "from,to,sport,dport,proto,when\n"
	at := func(when string) string { return "192.0.2.1,198.51.100.7,1000,80,6," + when + "\n" }
	for name, c := range map[string]struct {
		a, b   string
		copies uint64
	}{
		"halves of a day":    {at("2023-11-14 10:13:20 PM"), at("2023-11-14 10:13:20 AM"), 0},
		"the same, by 24":    {at("2023-11-14 10:13:20 PM"), at("2023-11-14 22:13:20"), 1},
		"zones":              {at("2023-11-14T22:13:20+01"), at("2023-11-14T22:13:20Z"), 0},
		"the same in a zone": {at("2023-11-14T23:13:20+0100"), at("2023-11-14T22:13:20Z"), 1},
		"day first":          {at("14/11/2023 10:13:20 PM"), at("16/11/2023 05:00:00 AM"), 0},
		"the same day":       {at("14/11/2023 10:13:20 PM"), at("11/14/2023 10:13:20 PM"), 1},
	} {
		a, b := tempFile(t, "a.csv", header+c.a), tempFile(t, "b.csv", header+c.b)
		if r, text, _ := runText(t, "--map", ourMap, a, b); r.Copies != c.copies || r.Unchecked != 0 || len(text.Unread) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	doubtful := tempFile(t, "a.csv", header+at("03/04/2023 10:13:20"))
	if _, stderr, code := clitest.Run("flows", "--map", ourMap, doubtful); code != cli.ExitFailed || !strings.Contains(stderr, "--time-format") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	april := tempFile(t, "b.csv", header+at("2023-04-03 10:13:20"))
	if r, _, _ := runText(t, "--map", ourMap, "--time-format", "%d/%m/%Y %H:%M:%S", doubtful); r.RecordsIn != 1 || r.Unchecked != 0 {
		t.Errorf("%+v", r)
	}
	if r, text, _ := runText(t, "--map", ourMap, "--time-format", "%d/%m/%Y %H:%M:%S", doubtful, april); r.Unchecked != 1 || len(text.Unread) != 1 || text.Unread[0].Example != "2023-04-03 10:13:20" {
		t.Errorf("%+v %+v", r, text)
	}
	if _, _, code := clitest.Run("flows", "--time-format", "%H:%M", doubtful); code != cli.ExitUsage {
		t.Errorf("a layout without a day: exit code %d", code)
	}
}

// TestFlowsUnread keeps records with values that cannot be read, and says which they are.
func TestFlowsUnread(t *testing.T) {
	a, b := "../flows/testdata/unread-a.csv", "../flows/testdata/unread-b.csv"
	r, text, stderr := runText(t, "--point", "same", "--of", "src,flow", "--reports", filepath.Join(t.TempDir(), "rows"), a, b)
	if r.RecordsIn != 7 || r.RecordsOut != 6 || r.Copies != 1 || r.Unchecked != 4 || text.Untimed != 1 {
		t.Errorf("%+v %+v", r, text)
	}
	if len(text.Unread) != 3 || text.Unread[0].Field != "dport" || text.Unread[0].Values != 3 || text.Unread[0].Example != "no-such-service" || text.Unread[1].Field != "start" {
		t.Errorf("%+v", text.Unread)
	}
	for _, word := range []string{`3 values of dport could not be read, such as "no-such-service"`, "--time-format", "in no window of --of"} {
		if !strings.Contains(stderr, word) {
			t.Errorf("%q is missing in %s", word, stderr)
		}
	}
	out, _, code := clitest.Run("flows", a, b)
	if code != cli.ExitDone || !strings.Contains(out, `unread      3 values of dport, such as "no-such-service"`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestFlowsSame takes what one exporter sent to two collectors for copies, if it is asked
// to, and recommends that.
func TestFlowsSame(t *testing.T) {
	lines := strings.SplitAfter(goflowLines, "\n")
	a, b := tempFile(t, "a.json", lines[0]+lines[2]), tempFile(t, "b.json", lines[0]+lines[2])
	if r, text, _ := runText(t, "--inspect", a, b); r.Copies != 0 || text.Inspection.Same != 2 || !strings.Contains(text.Inspection.Command, "--point same") {
		t.Errorf("%+v %+v", r, text.Inspection)
	}
	if r, _, _ := runText(t, "--point", "same", a, b); r.Copies != 2 || len(r.Points) != 2 || !strings.HasSuffix(r.Points[0].Point, "a.json") {
		t.Errorf("%+v", r)
	}
	if out, _, _ := clitest.Run("flows", a); !strings.Contains(out, "One point: exporters are told apart by address") {
		t.Error(out)
	}
	if r, text, _ := runText(t, "--inspect", a); r.Copies != 0 || text.Inspection.Same != 0 || strings.Contains(text.Inspection.Command, "same") {
		t.Errorf("%+v %+v", r, text.Inspection)
	}
}

// TestFlowsEvents finds the flows of a log that begins with something else.
func TestFlowsEvents(t *testing.T) {
	log := tempFile(t, "eve.json", `{"event_type":"stats","stats":{"uptime":8}}
{"event_type":"alert","src_ip":"192.0.2.1","dest_ip":"198.51.100.7","proto":"TCP"}
{"event_type":"flow","src_ip":"192.0.2.1","dest_ip":"198.51.100.7","proto":"TCP","flow":{"start":"2023-11-14T22:13:20.1+0000","bytes_toserver":300}}
{"event_type":"dns","src_ip":"192.0.2.1","dest_ip":"198.51.100.7","proto":"UDP"}
`)
	out := filepath.Join(t.TempDir(), "out.ndjson")
	if r, text, _ := runText(t, log, "-w", out); r.RecordsIn != 1 || r.Unchecked != 0 || text.Other != 3 {
		t.Errorf("%+v %+v", r, text)
	}
	if lines := strings.Count(string(mustReadFile(t, out)), "\n"); lines != 1 {
		t.Errorf("%d lines", lines)
	}
}

// TestFlowsForeign says so where nothing is a message of a version that is read.
func TestFlowsForeign(t *testing.T) {
	if r, text, stderr := runText(t, clitest.Bundled("router-plain.pcapng")); r.RecordsIn != 0 || text.Foreign == 0 || !strings.Contains(stderr, "is a message of NetFlow") {
		t.Errorf("%+v %+v %s", r, text, stderr)
	}
}

// TestFlowsPage writes the page of a run, and none if an input cannot be opened.
func TestFlowsPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if _, stderr, code := clitest.Run("flows", "--html", page, filepath.Join(t.TempDir(), "none.csv")); code != cli.ExitFailed {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("a page of nothing")
	}
	in := tempFile(t, "in.json", goflowLines)
	if _, stderr, code := clitest.Run("flows", "--html", page, in); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if text := string(mustReadFile(t, page)); !strings.Contains(text, "Copies by exporter") || !strings.Contains(text, "192.0.2.2") {
		t.Errorf("%.500s", text)
	}
	if _, _, code := clitest.Run("flows", "--html", "-", in); code != cli.ExitUsage {
		t.Errorf("two things on standard output: exit code %d", code)
	}
}

// TestFlowsArgus reads what Argus writes about both sides of a router, with names of services
// and protocols and without: the same flows.
func TestFlowsArgus(t *testing.T) {
	for _, name := range []string{"argus", "ra"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	dir := t.TempDir()
	flows := filepath.Join(dir, "flows.argus")
	if out, err := exec.Command("argus", "-r", clitest.Bundled("router-in.pcap"), "-w", flows).CombinedOutput(); err != nil {
		t.Skipf("argus: %v: %s", err, out)
	}
	columns := []string{"-u", "-c", ",", "-s", "stime", "ltime", "dur", "proto", "saddr", "sport", "dir", "daddr", "dport", "pkts", "bytes", "stos", "-r", flows}
	var files []string
	for name, flag := range map[string]string{"names.csv": "", "numbers.csv": "-nn"} {
		args := columns
		if flag != "" {
			args = append([]string{flag}, columns...)
		}
		out, err := exec.Command("ra", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, text, stderr := runText(t, files...)
	if r.RecordsIn == 0 || 2*r.Copies != r.RecordsIn || r.Unchecked != 0 || text.Other == 0 || r.Key != "biflow" {
		t.Errorf("%+v %+v %s", r, text, stderr)
	}
}
