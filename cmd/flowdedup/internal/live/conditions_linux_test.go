// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveConditions judges some packets of two interfaces, and protects some, in runs that
// get the same packets. With -i any
// the interface of a packet is in its header.
func TestLiveConditions(t *testing.T) {
	clitest.NeedTcpdump(t)
	all := map[string][]string{"any": {"-i", "any", "--ignore-outgoing"}, "named": {"-i", "left1", "-i", "left2"}}
	clitest.AtOnce(t, all, func(t *testing.T, interfaces []string) {
		clitest.Lab(t, "left1 right1", "left2 right2")
		dir := t.TempDir()
		const n = 30
		var frames []clitest.Frame
		for i := range 3 * n {
			frames = append(frames, clitest.Frame{ID: uint16(i), Src: byte(i % 3), TTL: 64})
		}
		type conditioned struct {
			only, protect             string
			copies, unjudged, guarded uint64
			run                       *liveRun
			out                       string
		}
		cases := []*conditioned{
			{"", "src host 10.0.0.1", 2 * n, 0, n, nil, ""},
			{"src host 10.0.0.1", "", n, 4 * n, 0, nil, ""},
			{"not src host 10.0.0.2", "src host 10.0.0.1", n, 2 * n, n, nil, ""},
			{"", "interface left2", 0, 0, 3 * n, nil, ""},
			{"", "interface left1", 3 * n, 0, 0, nil, ""},
			{"interface left2", "interface left1", 0, 3 * n, 0, nil, ""},
		}
		for i, c := range cases {
			c.out = filepath.Join(dir, fmt.Sprint(i, ".pcapng"))
			args := append([]string{"--window", "1h", "--memory", "1MiB", "-w", c.out, "--json"}, interfaces...)
			if c.only != "" {
				args = append(args, "--only", c.only)
			}
			if c.protect != "" {
				args = append(args, "--protect", c.protect)
			}
			c.run = startLive(t, args...)
		}
		clitest.SendTo(t, "right1", frames...)
		for _, c := range cases {
			wait.Until(t, "packets of the first interface", func() bool { return packetsIn(c.out) == 3*n })
		}
		clitest.SendTo(t, "right2", frames...)
		benchlab.Settle()
		for _, c := range cases {
			s := c.run.stop()
			if s.Duplicates != c.copies || s.PacketsOut != 6*n-c.copies {
				t.Errorf("--only %q --protect %q: %+v, want %d copies", c.only, c.protect, s, c.copies)
			}
			if (s.Unjudged != nil) != (c.only != "") || s.Unjudged != nil && *s.Unjudged != c.unjudged {
				t.Errorf("--only %q: %v unjudged, want %d", c.only, s.Unjudged, c.unjudged)
			}
			if (s.Protected != nil) != (c.protect != "") || s.Protected != nil && *s.Protected != c.guarded {
				t.Errorf("--protect %q: %v protected, want %d", c.protect, s.Protected, c.guarded)
			}
		}
	})
}

// TestLiveConditionRefusals checks that an expression without a meaning ends a run before
// it captures, and that a condition which no packet matched is reported at the end.
func TestLiveConditionRefusals(t *testing.T) {
	t.Parallel()
	clitest.NeedTcpdump(t)
	clitest.Lab(t, "left right")
	tun(t)
	endsAs(t, "-i left --duration 1ms -q", []refusal{
		{"-i tun0 --only 'ether host 02:00:00:00:00:01'", 2, "--only: wrong filter expression: "},
		{"--protect 'udp prot 53'", 2, "--protect: wrong filter expression: "},
		{"--prefer 'interface right'", 2, "there is no -i right"},
		{"--prefer 'interface lefd'", 2, "did you mean interface left?"},
	})
	r := startLive(t, "-i", "left", "--only", "udp", "--prefer", "tcp port 9", "--json")
	clitest.SendTo(t, "right", clitest.Frame{ID: 1, TTL: 64})
	r.finish()
	if text := r.Stderr.String(); !strings.Contains(text, "no packet matched --prefer tcp port 9") || strings.Contains(text, "--only") {
		t.Error(text)
	}
}

// TestLiveWithin finds copies on one VLAN only, also after a resume. It does not resume
// with other groups, whose digests would never match.
func TestLiveWithin(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	args := []string{"-i", "left", "--state", filepath.Join(t.TempDir(), "state"), "--window", "1h", "--memory", "1MiB", "--json"}
	const n = 40
	var frames []clitest.Frame
	for i := range n {
		frames = append(frames, clitest.Frame{ID: uint16(i / 2), TTL: 64, VLAN: 10 + uint16(i%2)})
	}
	r := startLive(t, append(args, "--within", "vlan,interface")...)
	clitest.SendTo(t, "right", frames...)
	if s := r.finish(); s.Duplicates != 0 {
		t.Errorf("the first run: %+v", s)
	}
	r = startLive(t, append(args, "--within", "interface,vlan")...)
	clitest.SendTo(t, "right", frames...)
	if s := r.finish(); s.PacketsIn != 2*n || s.Duplicates != n {
		t.Errorf("the second run: %+v", s)
	}
	for flag, was := range map[string]string{"": "and this run has none", "vlan": "and this run has vlan"} {
		all := append([]string{"live", "--duration", "1ms"}, args...)
		if flag != "" {
			all = append(all, "--within", flag)
		}
		text, err := clitest.Program(t, all...).CombinedOutput()
		if code := clitest.ExitCode(t, err); code != cli.ExitUsage || !strings.Contains(string(text), "it was saved with --within interface,vlan, "+was) {
			t.Errorf("%v: exit code %d: %s", all, code, text)
		}
	}
}

// TestLivePrefer keeps the packets of the interface that delivers them last, in the order
// in which they came from there.
func TestLivePrefer(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left1 right1", "left2 right2")
	out := filepath.Join(t.TempDir(), "out.pcapng")
	const n = 50
	var first, last []clitest.Frame
	for i := range n {
		first = append(first, clitest.Frame{ID: uint16(i), TTL: 64})
		last = append(last, clitest.Frame{ID: uint16(i), TTL: 63})
	}
	r := startLive(t, "-i", "left1", "-i", "left2", "--prefer", "interface left2", "--hold", "1h", "--window", "1h", "--memory", "1MiB", "-w", out, "--json")
	clitest.SendTo(t, "right1", first...)
	clitest.SendTo(t, "right2", last...)
	alone := clitest.Frame{ID: n, TTL: 64}
	clitest.SendTo(t, "right1", alone)
	if s := r.finish(); s.Duplicates != n || s.PacketsOut != n+1 {
		t.Errorf("%+v", s)
	}
	got, want := clitest.FramesOf(t, out), []string{string(alone.Bytes())}
	for _, f := range last {
		want = append(want, string(f.Bytes()))
	}
	// The packet that came once has no place among the packets of the other interface.
	if i := slices.Index(got, want[0]); i > 0 {
		got = slices.Concat(got[i:i+1], got[:i], got[i+1:])
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d packets: %x", len(got), got)
	}
}
