// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// burst returns n packets, each followed by a copy that change has modified.
func burst(n int, change func(f *clitest.Frame)) (frames []clitest.Frame) {
	for i := range n {
		f := clitest.Frame{ID: uint16(i), Src: byte(i % 5), TTL: 64}
		frames = append(frames, f)
		change(&f)
		frames = append(frames, f)
	}
	return frames
}

// TestLiveCopies finds the copies of a burst, and how they differ.
func TestLiveCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		change func(f *clitest.Frame)
	}{
		{"exact", func(*clitest.Frame) {}},
		{"vlan", func(f *clitest.Frame) { f.VLAN = 100 }},
		{"ttl", func(f *clitest.Frame) { f.TTL-- }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			clitest.Lab(t, "left right")
			const n = 500
			r := startLive(t, "-i", "left", "--json", "--window", "1m", "--memory", "1MiB")
			clitest.SendTo(t, "right", burst(n, c.change)...)
			s := r.finish()
			if s.PacketsIn != 2*n || s.Duplicates != n || s.Interfaces[0].Received != 2*n || s.Interfaces[0].Dropped != 0 {
				t.Errorf("%+v", s)
			}
			// A random sample of about 16, if all packets come in one batch.
			if sampled := s.Reasons["sampled"]; sampled == 0 || s.Reasons[c.reason] != sampled {
				t.Errorf("reasons %v", s.Reasons)
			}
		})
	}
}

// finish stops the run when the kernel has delivered what was sent. What the run has not
// read by then, it reads at the end.
func (r *liveRun) finish() liveSummary {
	r.T.Helper()
	benchlab.Settle()
	return r.stop()
}

// TestLiveAcross checks that only packets of the other interface count as copies.
func TestLiveAcross(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left1 right1", "left2 right2")
	const n = 300
	r := startLive(t, "-i", "left1", "-i", "left2", "--across", "--json", "--window", "10s")
	frames := burst(n, func(*clitest.Frame) {})
	clitest.SendTo(t, "right1", frames...)
	clitest.SendTo(t, "right2", frames...)
	s := r.finish()
	if s.PacketsIn != 4*n || s.Duplicates != 2*n || s.Reasons["interface"] == 0 {
		t.Errorf("%+v", s)
	}
}

// TestLiveFile compares the files of kept and removed packets with those of dedup.
func TestLiveFile(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	kept, removed := filepath.Join(t.TempDir(), "kept.pcapng"), filepath.Join(t.TempDir(), "removed.pcapng")
	const n = 400
	r := startLive(t, "-i", "left", "-w", kept, "--duplicates", removed, "--json", "--window", "5s")
	frames := burst(n, func(f *clitest.Frame) { f.VLAN = 7 })
	clitest.SendTo(t, "right", frames...)
	if s := r.finish(); s.Duplicates != n {
		t.Errorf("%+v", s)
	}
	var want, copies []string
	for i, f := range frames {
		if i%2 == 0 {
			want = append(want, string(f.Bytes()))
		} else {
			copies = append(copies, string(f.Bytes()))
		}
	}
	if got := clitest.FramesOf(t, kept); !slices.Equal(got, want) {
		t.Errorf("%d packets kept, want %d", len(got), len(want))
	}
	if got := clitest.FramesOf(t, removed); !slices.Equal(got, copies) {
		t.Errorf("%d packets removed, want %d", len(got), len(copies))
	}
}

// TestLivePipe feeds another flowdedup.
func TestLivePipe(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	const n = 200
	args := append([]string{"live", "-i", "left", "-w", "-", "--count", "400"}, captureArgs(t)...)
	r := &liveRun{clitest.NewProcess(t, args...)}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	r.Cmd.Stdout = to
	r.Start()
	if err := to.Close(); err != nil { // the program has it
		t.Fatal(err)
	}
	r.Event(" started ")
	next := clitest.Program(t, "dedup", "-", "--json", "--window", "5s")
	next.Stdin = from
	clitest.SendTo(t, "right", burst(n, func(f *clitest.Frame) { f.ID += 1000 })...)
	out, err := next.Output()
	if err != nil {
		t.Fatal(err)
	}
	if s := r.summary(out); s.PacketsIn != 2*n || s.Duplicates != 0 {
		t.Errorf("%+v", s)
	}
	if code := r.Wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, r.Stderr.String())
	}
}

// TestLiveForward checks that each kept packet is forwarded once and in order.
func TestLiveForward(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	seen := filepath.Join(t.TempDir(), "sensor.pcapng")
	const n = 400
	sensor := startLive(t, "-i", "sensor", "-w", seen, "--method", "exact", "--window", "n:1", "--json")
	r := startLive(t, "-i", "left", "--forward", "out", "--json", "--window", "5s")
	frames := burst(n, func(f *clitest.Frame) { f.TTL -= 2 })
	clitest.SendTo(t, "right", frames...)
	s := r.finish()
	if s.Duplicates != n || s.Forwards[0]["sent"] != float64(n) {
		t.Errorf("%+v", s)
	}
	sensor.finish()
	got := clitest.FramesOf(t, seen)
	if len(got) != n {
		t.Fatalf("%d packets at the sensor, want %d", len(got), n)
	}
	for i := range got {
		if got[i] != string(frames[2*i].Bytes()) {
			t.Fatalf("packet %d differs", i)
		}
	}
}

// TestLiveLoops refuses to forward in a circle.
func TestLiveLoops(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right", "out sensor")
	vlans := canIP("link add link left name left.7 type vlan id 7")
	macvlans := canIP("link add link out name mac1 type macvlan mode bridge") && canIP("link add link out name mac2 type macvlan mode bridge") &&
		canIP("link set mac1 up") && canIP("link set mac2 up")
	bridges := canIP("link add br0 type bridge") && canIP("link set right master br0")
	for _, c := range []struct {
		captured, forward string
		possible, refused bool
	}{
		{"left", "left", true, true}, {"left", "right", true, true}, {"any", "out", true, true},
		{"left", "left.7", vlans, true}, {"left.7", "left", vlans, true},
		{"left", "br0", bridges, true}, {"br0", "left", bridges, true}, {"right", "br0", bridges, true},
		{"mac1", "mac2", macvlans, true}, {"mac1", "out", macvlans, true}, {"left", "mac1", macvlans, false},
		{"left", "out", true, false},
	} {
		if !c.possible {
			continue
		}
		cmd := clitest.Program(t, "live", "-i", c.captured, "--forward", c.forward, "--duration", "1ms", "-q")
		out, err := cmd.CombinedOutput()
		code := clitest.ExitCode(t, err)
		if refused := code == 1 && strings.Contains(string(out), "--forward "+c.forward+": would capture again"); refused != c.refused {
			t.Errorf("-i %s --forward %s: exit code %d, %s", c.captured, c.forward, code, out)
		}
		if c.refused && strings.Count(string(out), "\n") != 1 {
			t.Errorf("more than a line: %s", out)
		}
	}
}

// TestLiveForwardLinkTypes checks that packets that the interface cannot carry are
// rejected.
func TestLiveForwardLinkTypes(t *testing.T) {
	clitest.Lab(t, "out sensor")
	tun(t)
	out, err := clitest.Program(t, "live", "-i", "tun0", "--forward", "out", "--wait").CombinedOutput()
	want := "--forward out: the interface cannot carry frames of this link type: -i tun0 has link type "
	if code := clitest.ExitCode(t, err); code != 1 || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestLiveCut says once that copies remain whose truncated packets begin behind other headers.
func TestLiveCut(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	r := startLive(t, "-i", "left", "--snaplen", "50", "--window", "1m", "--json")
	const n = 20
	tagged := func(f *clitest.Frame) { f.VLAN = 100 }
	for range 2 {
		clitest.SendTo(t, "right", burst(n, tagged)...)
	}
	const text = "truncated packets have 32 to 36 bytes from their IP header on, and copies that were cut in different places would remain"
	r.Event(text)
	const numbered = n - 1 // ID 0 is no number
	if s := r.finish(); s.PacketsIn != 4*n || s.Duplicates != 2*numbered || strings.Count(r.Stderr.String(), text) != 1 {
		t.Errorf("%+v\n%s", s, r.Stderr.String())
	}
}

// TestLiveReports checks that counts appear soon after the end of their window.
func TestLiveReports(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	name := filepath.Join(t.TempDir(), "counts.jsonl")
	r := startLive(t, "-i", "left", "--of", "src,flow", "--every", "1s", "--slide", "1s", "--reports", name, "--json", "--window", "5s")
	const n = 100
	clitest.SendTo(t, "right", burst(n, func(*clitest.Frame) {})...)
	r.Event("window closed")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// It may lie in one window with a part of the burst, so it has one of its addresses.
	clitest.SendTo(t, "right", clitest.Frame{ID: 5000, Src: 4, TTL: 64})
	r.finish()
	all, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(all), string(text)) || len(all) == len(text) {
		t.Errorf("the file after the run, %v:\n%s", err, all)
	}
	// The burst may lie on both sides of a window's end.
	packets, addresses, past := uint64(0), uint64(0), uint64(0)
	for _, row := range rowsOf[clitest.DistinctRow](t, name) {
		switch {
		case row.Of != "src" || row.Family != "ipv4":
		case row.Kind == "sliding":
			past = max(past, row.Distinct)
		case row.Kind == "window":
			packets += row.Packets
			addresses = max(addresses, row.Distinct)
		}
	}
	if packets != n+1 || addresses != 5 || past > 5 {
		t.Errorf("%d packets of %d addresses:\n%s", packets, addresses, all)
	}
}

// TestLiveOutage ends with an interface, or with --wait outlives it.
func TestLiveOutage(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	r := startLive(t, "-i", "left", "--json")
	clitest.IP(t, "link set left down")
	if code := r.Wait(); code != 1 || !strings.Contains(r.Stderr.String(), "left: the interface is down") {
		t.Errorf("exit code %d\n%s", code, r.Stderr.String())
	}
	clitest.IP(t, "link set left up")

	r = startLive(t, "-i", "left", "--json", "--wait")
	clitest.IP(t, "link set left down")
	r.Event("down or gone")
	clitest.IP(t, "link set left up")
	r.Event("is back")
	clitest.IP(t, "link del left")
	r.Event("down or gone")
	clitest.Pair(t, "left", "right")
	r.Event("is back")
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	if s := r.finish(); s.PacketsIn != 20 || s.Interfaces[0].Outages != 2 {
		t.Errorf("%+v", s)
	}
}

// TestLiveRefusals checks that impossible requests give one line.
func TestLiveRefusals(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	clitest.IP(t, "link set right down")
	endsAs(t, "", []refusal{
		{"", 2, "name an interface with -i; available: lo, "},
		{"-i nope", 1, "nope: no such interface; available: lo, "},
		{"-i right", 1, "right: the interface is down: ip link set right up"},
		{"-i left -i left", 2, "interface left is named twice"},
		{"-i left -i left --capture xdp", 2, "interface left is named twice"},
		{"-i any -i left", 2, `"any" cannot be captured together with other interfaces`},
		{"-i left --snaplen 5", 2, "snap length 5: at least 24"},
		{"-i left --rings 257", 2, "257 rings for an interface: at most 256"},
		{"-i left --forward nope", 1, "nope: no such interface; available: lo, "},
		{"-i left -w /nope/x.pcapng", 1, "/nope/x.pcapng: no such file or directory"},
		{"-i left --of src --reports /nope/x.jsonl", 1, "/nope/x.jsonl: no such file or directory"},
		{"-i left --state /nope/state", 1, "/nope/state: no such file or directory"},
		{"-i left -w x --state x", 2, "-w and --state name the same file"},
		{"-i left -w x --of src --reports x", 2, "-w and --reports name the same file"},
		{"-i left --of src --reports x --state ./x", 2, "--reports and --state name the same file"},
		{"-i left --forward=", 2, "--forward has an empty name"},
		{"-i left --state x --method exact", 2, "--state and --method exact exclude each other"},
		{"-i left --http nonsense", 2, "--http"},
		{"-i left --reports x.jsonl", 2, "--reports needs --of"},
		{"-i left --top 10", 2, "--top needs --of"},
		{"-i left --of src --top 10 --state x", 2, "--top and --state exclude each other: rankings are not saved"},
		{"-i left -w - --of src", 2, "name a file for counts with --reports"},
		{"-i right --wait --user nobody", 1, "right is down or not there, and user nobody could not open it later"},
		{"-i nope --wait --user nobody", 1, "nope is down or not there, and user nobody could not open it later"},
		{"-i left --user nobody-at-all", 1, "--user nobody-at-all: there is no such user"},
		{"-i left --user 0:nobody-at-all", 1, "--user 0:nobody-at-all: there is no such group"},
		{"left", 2, "name an interface with -i; available: lo, "},
	})
}

// TestLivePrivileges checks that CAP_NET_RAW is enough, and that another user keeps no
// capability.
func TestLivePrivileges(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	const nobody = 65534
	cmd := clitest.Program(t, "live", "-i", "left", "--duration", "1ms")
	cmd.Path = clitest.CopyProgram(t)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); clitest.ExitCode(t, err) != 1 || !strings.Contains(string(out), "left: not permitted: needs CAP_NET_RAW") {
		t.Errorf("as nobody: %v: %s", err, out)
	}
	for name, gid := range map[string]string{"nobody": "", "65534": "", "65534:1234": "1234"} {
		r := startLive(t, "-i", "left", "--user", name, "--json")
		clitest.SendTo(t, "right", burst(5, func(*clitest.Frame) {})...)
		requireUnprivileged(t, r, gid)
		if s := r.finish(); s.PacketsIn != 10 {
			t.Errorf("%+v", s)
		}
	}
}

// requireUnprivileged checks that all threads belong to nobody for good, and to group gid
// unless that is "".
func requireUnprivileged(t *testing.T, r *liveRun, gid string) {
	t.Helper()
	wanted := []string{"Uid:\t65534\t65534\t65534\t65534", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"}
	if gid != "" {
		wanted = append(wanted, "Gid:"+strings.Repeat("\t"+gid, 4), "Groups:\t"+gid+" \n")
	}
	tasks, err := filepath.Glob("/proc/" + pidOf(r) + "/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatal("no threads: ", err)
	}
	for _, name := range tasks {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		for _, want := range wanted {
			if !strings.Contains(string(status), want) {
				t.Errorf("%s: no %q in\n%s", name, want, status)
			}
		}
	}
}

// TestLiveMark writes all packets, and comments on the copies.
func TestLiveMark(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	file := filepath.Join(t.TempDir(), "marked.pcapng")
	const n = 300
	r := startLive(t, "-i", "left", "-w", file, "--mark", "--json", "--window", "5s")
	frames := burst(n, func(f *clitest.Frame) { f.VLAN = 7 })
	clitest.SendTo(t, "right", frames...)
	if s := r.finish(); s.Duplicates != n {
		t.Errorf("%+v", s)
	}
	if got := clitest.FramesOf(t, file); len(got) != len(frames) {
		t.Errorf("%d packets, want %d", len(got), len(frames))
	}
	for i, c := range clitest.CommentsOf(t, file) {
		begin := fmt.Sprintf("copy of packet %d, ", i)
		if i%2 == 0 && c != "" || i%2 == 1 && !(strings.HasPrefix(c, begin) && strings.HasSuffix(c, " later, VLAN none -> 7")) {
			t.Errorf("packet %d: %q", i+1, c)
		}
	}
}
