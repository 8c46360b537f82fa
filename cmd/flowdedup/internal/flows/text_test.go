// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

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
		if r, _ := runFlows(t, cli.ExitDone, "--map", ourMap, a, b); r.Copies != c.copies || r.Unchecked != 0 || len(r.Unread) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	doubtful := tempFile(t, "a.csv", header+at("03/04/2023 10:13:20"))
	if _, stderr, code := clitest.Run("flows", "--map", ourMap, doubtful); code != cli.ExitFailed || !strings.Contains(stderr, "--time-format") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	april := tempFile(t, "b.csv", header+at("2023-04-03 10:13:20"))
	if r, _ := runFlows(t, cli.ExitDone, "--map", ourMap, "--time-format", "%d/%m/%Y %H:%M:%S", doubtful); r.RecordsIn != 1 || r.Unchecked != 0 {
		t.Errorf("%+v", r)
	}
	if r, _ := runFlows(t, cli.ExitDone, "--map", ourMap, "--time-format", "%d/%m/%Y %H:%M:%S", doubtful, april); r.Unchecked != 1 || len(r.Unread) != 1 || r.Unread[0].Example != "2023-04-03 10:13:20" {
		t.Errorf("%+v", r)
	}
	if _, _, code := clitest.Run("flows", "--time-format", "%H:%M", doubtful); code != cli.ExitUsage {
		t.Errorf("a layout without a day: exit code %d", code)
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
	r, stderr := runFlows(t, cli.ExitDone, files...)
	if r.RecordsIn == 0 || 2*r.Copies != r.RecordsIn || r.Unchecked != 0 || r.Other == 0 || r.Key != "biflow" {
		t.Errorf("%+v %s", r, stderr)
	}
}
