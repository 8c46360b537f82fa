// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/hubclient/natslink"
)

// TestMain is flowdedup-hub itself where a test starts it as a program.
func TestMain(m *testing.M) {
	if os.Getenv("FLOWDEDUP_HUB_TEST") == "run" {
		main()
		return
	}
	os.Exit(m.Run())
}

// hubRun runs a command line that ends by itself.
func hubRun(args ...string) (code int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	code = run(args, &stdout, &stderr, nil)
	return code, stdout.String(), stderr.String()
}

// TestUsage wants every mistake to end with one line with the remedy.
func TestUsage(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"status"}, 1, "no hub has been started with it"},
		{[]string{"hub-token"}, 1, "no hub has been started with it"},
		{[]string{"remove", "a"}, 1, "no hub has been started with it"},
		{[]string{"counts", "x.counts"}, 1, "no hub has been started with it"},
		{[]string{"counts"}, 2, "want one file"},
		{[]string{"--counts", "all"}, 2, "such as 4GiB"},
		{[]string{"join-token"}, 2, "want one site"},
		{[]string{"join-token", "a b"}, 2, "letters, digits"},
		{[]string{"join-token", "../x"}, 2, "letters, digits"},
		{[]string{"nonsense"}, 2, "--help"},
		{[]string{"help", "nonsense"}, 2, "--help"},
		{[]string{"--nonsense"}, 2, "unknown flag"},
		{[]string{"--window", "3 packets"}, 2, "such as 1ms"},
		{[]string{"--window", "-1s"}, 2, "such as 1ms"},
		{[]string{"--window", "landmark:1h"}, 2, "such as 1ms"},
		{[]string{"--identity", "all"}, 2, "--identity"},
		{[]string{"--slices", "0"}, 2, "1 to 1000"},
		{[]string{"--slices", "2,x"}, 2, "1 to 1000"},
		{[]string{"--slices", "100,100"}, 2, "1 to 1000"},
		{[]string{"--layout", "vertical"}, 2, "add --filter"},
		{[]string{"--layout", "diagonal", "--filter", "bloom"}, 2, "want horizontal"},
		{[]string{"--layout", "hv", "--filter", "bloom", "--slices", "8"}, 2, "want H,V"},
		{[]string{"--filter", "cuckoo"}, 2, "cuckoo"},
		{[]string{"--hashes", "3"}, 2, "--hashes is for"},
		{[]string{"--filter", "bloom", "--hashes", "0"}, 2, "hash functions"},
		{[]string{"--filter", "bloom", "--timers", "equal"}, 2, "equal timers"},
		{[]string{"--filter", "bloom", "--events", "5"}, 2, "--filter events"},
		{[]string{"--filter", "events", "--events", "100000000"}, 2, "could all run"},
		{[]string{"--filter", "bloom", "--lost", "some"}, 2, "closed, open or a number"},
		{[]string{"--filter", "bloom", "--size", "much"}, 2, "such as 64MiB"},
		{[]string{"--layout", "vertical", "--filter", "timers", "--primitive", "test-and-set"}, 2, "first-test-then-set"},
		{[]string{"--memory", "1"}, 2, "such as 512MiB"},
		{[]string{"--config", text}, 2, "line 1"},
		{[]string{"--listen", "4222"}, 2, ":PORT"},
		{[]string{"--listen", ":99999"}, 2, ":PORT"},
		{[]string{"--filter", "bloom", "--layout", "vertical", "--slices", "3,3"}, 2, "want a number"},
		{[]string{"--memory", "1GiB", "--memory", "2GiB"}, 2, "--memory is given twice"},
		{[]string{"status", "--json", "--json=false"}, 2, "--json is given twice, with different values"},
		{[]string{"--tunnel", "10800=train", "--identity", "inner"}, 2, "--tunnel"},
		{[]string{"--tunnel", "10800=vxlan"}, 2, "--identity inner"},
		{[]string{"--within", "vrf", "--within", "vlan"}, 2, "--within vrf"},
		{[]string{"--within", "vlan:1+2,2+3"}, 2, "vlan 2 is named twice"},
		{[]string{"--within", "vlan:1+2,lan"}, 2, "from site to site"},
		{[]string{"--tls-cert", "x"}, 2, "belong together"},
		{[]string{"--tls-cert", text, "--tls-key", text}, 2, "--tls-cert"},
		{[]string{"--http", "nowhere", "--listen", "127.0.0.1:0"}, 2, "not an address to listen on"},
		{[]string{"--check", "--http", "nowhere"}, 2, "not an address to listen on"},
		{[]string{"--check", "--http-token", "/nope"}, 1, "--http-token open /nope"},
		{[]string{"--check", "--window", "long"}, 2, "such as 1ms"},
		{[]string{"--check", "--tls-cert", text, "--tls-key", text}, 2, "--tls-cert"},
		{[]string{"--join", "x"}, 2, "hub-token"},
		{[]string{"--join", "x", "--slices", "3"}, 2, "leave it out"},
		{[]string{"--join", "x", "--layout", "vertical"}, 2, "leave it out"},
		{[]string{"--nats", "nats://127.0.0.1:1", "--http", "none"}, 1, "none answers at nats://127.0.0.1:1"},
	} {
		code, _, errOut := hubRun(append(c.args, "--state", state+strings.Join(c.args[:1], ""))...)
		if lines := strings.Count(errOut, "\n"); code != c.code || lines != 1 || !strings.Contains(errOut, c.want) {
			t.Errorf("%q: exit code %d, want %d, and %q in one line: %q", c.args, code, c.code, c.want, errOut)
		}
	}
}

// TestToken makes tokens without a hub that runs.
func TestToken(t *testing.T) {
	state := t.TempDir()
	code, first, errOut := hubRun("join-token", "paris", "--state", state, "--url", "nats://192.0.2.1:4222")
	if code != 0 || strings.Count(first, "\n") != 1 {
		t.Fatal(code, errOut)
	}
	token, err := hubclient.DecodeToken(first)
	if err != nil || token.Site != "paris" || token.URL != "nats://192.0.2.1:4222" || token.Slices != 64 || token.Seed == "" {
		t.Errorf("%v, %+v", err, token)
	}
	if _, again, _ := hubRun("join-token", "paris", "--state", state, "--url", "nats://192.0.2.1:4222"); again != first {
		t.Error("another token")
	}
	_, users, _ := hubRun("users", "--state", state)
	if !strings.Contains(users, "# site paris") || strings.Contains(users, token.Seed) {
		t.Error(users)
	}
	if err := filepath.Walk(state, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if code, _, errOut := hubRun("remove", "berlin", "--state", state); code != 1 || !strings.Contains(errOut, "no such site") {
		t.Error(code, errOut)
	}
}

// program starts flowdedup-hub as a process of its own, and waits until it answers.
func program(t *testing.T, state string, args ...string) *exec.Cmd {
	t.Helper()
	return started(t, state, exec.Command(os.Args[0], append(args, "--state", state)...))
}

// started starts a command that is flowdedup-hub, or becomes it, and waits until it answers.
func started(t *testing.T, state string, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	c.Env = append(os.Environ(), "FLOWDEDUP_HUB_TEST=run")
	var errOut bytes.Buffer
	c.Stderr = &errOut
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may have ended
		if _ = c.Wait(); t.Failed() {
			t.Log(errOut.String())
		}
	})
	wait.Until(t, "the hub to answer", func() bool {
		st, err := statusOf(state)
		return err == nil && len(st.Unowned) == 0
	})
	return c
}

func statusOf(state string) (st hub.Status, err error) {
	_, out, _ := hubRun("status", "--json", "--state", state)
	return st, json.Unmarshal([]byte(out), &st)
}

// ask joins as a site, asks about packets, and returns how many are copies.
func ask(t *testing.T, state, site string, packets int, at int64) (copies int) {
	t.Helper()
	_, line, errOut := hubRun("join-token", site, "--state", state)
	token, err := hubclient.DecodeToken(line)
	if err != nil {
		t.Fatal(err, errOut)
	}
	link, unreached, err := natslink.Dial(token, func(error) {})
	if err = errors.Join(unreached, err); err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	client := hubclient.NewClient(hubclient.ClientConfig{Token: token, Wait: 30 * time.Second, Block: true}, link, "run")
	defer client.Close()
	if err := link.Listen(client.Inbox(), client.Receive); err != nil {
		t.Fatal(err)
	}
	digests, times := make([]digest.Digest, packets), make([]int64, packets)
	for i := range digests {
		digests[i][0], times[i] = uint64(i)*0x9e3779b97f4a7c15, at
	}
	var a hubclient.Answers
	client.Ask(&a, digests, times, make([]uint64, (packets+63)/64))
	client.Wait(&a)
	if a.Unchecked > 0 {
		t.Errorf("site %s: %d unchecked", site, a.Unchecked)
	}
	for _, word := range a.Copies {
		copies += bits.OnesCount64(word)
	}
	return copies
}

// TestKill kills a hub of two, which share the slices, with a signal that it cannot
// catch: the other takes all slices, with everything in the journals. Started again, the
// first has its share again. Then it kills the hub that has the server. Each ends in
// order by SIGTERM.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s: leases have to end")
	}
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	args := []string{"--listen", "127.0.0.1:" + lab.FreePort(t), "--http", "none", "--slices", "8", "--memory", "16MiB", "--journal"}
	one := program(t, first, append(args, "--name", "one")...)
	_, line, _ := hubRun("hub-token", "--state", first)
	two := program(t, second, "--join", strings.TrimSpace(line), "--http", "none", "--memory", "16MiB", "--name", "two")
	shares := func(want map[string]int) {
		t.Helper()
		wait.Until(t, fmt.Sprint("shares of ", want), func() bool {
			st, err := statusOf(first)
			got := map[string]int{}
			for _, s := range st.PerSlice {
				got[s.Hub]++
			}
			return err == nil && len(st.Unowned) == 0 && got["one"] == want["one"] && got["two"] == want["two"]
		})
	}
	const packets = 5000
	at := time.Now().UnixNano()
	shares(map[string]int{"one": 4, "two": 4})
	if n := ask(t, first, "a", packets, at); n != 0 {
		t.Errorf("%d copies at the first site", n)
	}
	if err := two.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	shares(map[string]int{"one": 8})
	if n := ask(t, first, "b", packets, at); n != packets {
		t.Errorf("%d copies of %d after a hub was killed", n, packets)
	}
	two = program(t, second, "--http", "none", "--memory", "16MiB", "--name", "two")
	shares(map[string]int{"one": 4, "two": 4})
	if err := one.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = one.Wait() // the port is free then
	one = program(t, first, "--http", "none", "--memory", "16MiB", "--name", "one")
	shares(map[string]int{"one": 4, "two": 4})
	if n := ask(t, first, "c", packets, at); n != packets {
		t.Errorf("%d copies of %d after the server was killed", n, packets)
	}
	for _, c := range []*exec.Cmd{two, one} {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // says that the exit code is not 0
		if code := c.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGTERM) {
			t.Errorf("exit code %d: %s", code, c.Stderr)
		}
	}
}

// TestCheck checks a hub before its first start, and beside the running hub. Nothing is made.
func TestCheck(t *testing.T) {
	state := filepath.Join(t.TempDir(), "var", "state")
	check := func(want string, args ...string) {
		t.Helper()
		code, out, errOut := hubRun(append(args, "--check", "--state", state)...)
		if want == "" && (code != 0 || out != "ok\n" || errOut != "") || want != "" && (code == 0 || !strings.Contains(errOut, want)) {
			t.Errorf("%q: exit code %d, %q, %q, want %q", args, code, out, errOut, want)
		}
	}
	check("", "--slices", "2")
	if _, err := os.Stat(filepath.Dir(state)); !os.IsNotExist(err) {
		t.Errorf("made a folder: %v", err)
	}
	program(t, state, "--listen", "127.0.0.1:"+lab.FreePort(t), "--http", "none", "--slices", "1", "--memory", "1MiB")
	settings, err := os.ReadFile(filepath.Join(state, "hub.json"))
	if err != nil {
		t.Fatal(err)
	}
	check("", "--slices", "3", "--window", "5ms")
	check("--identity inner", "--within", "vni")
	if now, err := os.ReadFile(filepath.Join(state, "hub.json")); err != nil || !bytes.Equal(now, settings) {
		t.Errorf("settings are %s now, and were %s: %v", now, settings, err)
	}
	if err := os.WriteFile(filepath.Join(state, "hub.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("hub.json: unexpected end")
}

// TestIgnoredSignals starts a hub with signals ignored, as in the background of a script that
// nohup has started. SIGINT ends it, and SIGHUP before it does not.
func TestIgnoredSignals(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"-c", `trap "" INT QUIT HUP; exec "$0" "$@"`, os.Args[0], "--state", state, "--listen", "127.0.0.1:" + lab.FreePort(t), "--http", "none", "--slices", "1", "--memory", "1MiB"}
	c := started(t, state, exec.Command("sh", args...))
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Wait() // says that the exit code is not 0
	if code := c.ProcessState.ExitCode(); code != exitSignal+int(syscall.SIGINT) {
		t.Errorf("exit code %d: %s", code, c.Stderr)
	}
}

// TestShown writes a status as tables, page and metrics.
func TestShown(t *testing.T) {
	offset, now := 1500*time.Microsecond, time.Unix(1_700_000_000, 0).UTC()
	banned := now.Add(30 * time.Second)
	st := hub.Status{
		Filter: "packets", Window: "1ms", Slices: 2, Owned: 1, Unowned: []int{1},
		Hubs: []hub.HubStatus{{Hub: "h", Slices: 1, MemoryBytes: 1 << 20, Started: now}},
		Sites: []hub.SiteStatus{
			{Site: "a", Digests: 1000, DigestRate: 10, Bad: 12, Bans: 2, BannedUntil: &banned},
			{Site: "b", Digests: 2000, Copies: 500, Offset: &offset, OffsetOf: "a", Reported: &now, Unchecked: 7, AnswerP99: 1234 * time.Microsecond},
		},
		Matrix:   []hub.PairStatus{{First: "a", Copy: "b", Copies: 500, Delay: hub.PairDelay{P50: 31 * time.Microsecond}}},
		PerSlice: []hub.SliceStatus{{Slice: 0, Hub: "h", Digests: 3000, Fill: 0.5, FPR: 1e-12}},
		Refused:  hub.Refusals{Bad: 3},
		Counts: &hub.CountsStatus{
			Totals: counts.Totals{Files: 3, Bytes: 4096, Refused: 2, Pending: 1, Evicted: 8},
			Rows: []counts.Row{
				{Of: "src", Family: "ipv4", Distinct: 9, Sensors: "2/2"},
				{Of: "\x1b[2Jflow", Family: "\u202eipv4", Distinct: 1<<64 - 1, Sensors: "1/1"},
				{WindowStart: &now, Of: "src", Family: "ipv4", Distinct: 12345, Sensors: "1/3", Missing: []string{"a", "c"}},
			},
		},
	}
	var table bytes.Buffer
	if err := writeStatus(newTables(&table), st, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(table.String(), "\x1b\u202e") {
		t.Errorf("control characters in the table: %q", table.String())
	}
	past := &history{}
	for i := range mostSamples + 5 {
		past.add(now.Add(time.Duration(i)*sampleEvery), st)
	}
	if len(past.past) != mostSamples {
		t.Errorf("%d samples", len(past.past))
	}
	get := func(path string) string {
		w := httptest.NewRecorder()
		content(func() hub.Status { return st }, func() []string { return []string{"1 of 2 slices have no hub"} }, nil, past).Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Body.String()
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"table":  {table.String(), []string{"2 slices, 1 with a hub", "warning: 1 slices without a hub", "site a has sent 12 bad requests", "site a does far more than sensors do: 2 bans, the last until 2023-11-14 22:13:50 UTC", "8 files of old windows", `"\x1b[2Jflow"`, `"\u202eipv4"`, "18,446,744,073,709,551,615", "1.5ms", "500 (31µs)", "1.234ms", "3 bad", "1s ago", "12,345", "1/3", "a c", "no time", "1 windows are being united"}},
		"page":   {strings.NewReplacer(`<span class="word">`, "", "</span>", "", "\u00a0", " ").Replace(get("/")), []string{"<td>1.5ms</td><td class=\"left\">a", "<td>500</td><td>31µs", "1 of 2 slices have no hub", "site a does far more than sensors do: 2 bans, the last until 2023-11-14 22:13:50 UTC", "50.0 %", "<td>12,345", "<td>1/3</td><td class=\"left\">a c", "Digests from each site", "Copies between sites"}},
		"json":   {get("/status.json"), []string{`"slices_unowned":[1]`, `"offset_ns":1500000`, `"bans":2,"banned_until":"2023-11-14T22:13:50Z"`, `"sensors":"1/3","missing":["a","c"]`}},
		"health": {get("/healthz"), []string{`{"status":"failing","age_ns":0,"reasons":["1 of 2 slices have no hub"]}`}},
		"metrics": {get("/metrics"), []string{"process_start_time_seconds ", "go_goroutines ",
			`flowdedup_hub_copies_total{copy="b",first="a"} 500` + "\n", `flowdedup_hub_site_clock_offset_seconds{of="a",site="b"} 0.0015` + "\n", "# TYPE flowdedup_hub_slice_fill_ratio gauge\n",
			`flowdedup_hub_distinct{family="ipv4",of="src"} 12345` + "\n", `flowdedup_hub_distinct_missing_sites{family="ipv4",of="src"} 2` + "\n", "flowdedup_hub_counts_bytes 4096\n",
			"flowdedup_hub_slices 2\n", "flowdedup_hub_slices_owned 1\n", `flowdedup_hub_site_bad_requests_total{site="a"} 12` + "\n", `flowdedup_hub_site_bans_total{site="a"} 2` + "\n", `flowdedup_hub_site_banned_until_seconds{site="a"} 1.70000003e+09` + "\n", "flowdedup_hub_counts_evicted_files_total 8\n"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s has no %q:\n%s", name, want, c.text)
			}
		}
	}
}
