// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// aToken returns a token of a hub that is not there.
func aToken(change func(*hubclient.Token)) string {
	t := hubclient.Token{
		URL: "nats://127.0.0.1:1", Namespace: "main", Filter: "packets", Site: "paris", Epoch: 1, Slices: 4, Key: make([]byte, 32), WindowUS: 1000,
	}
	if change != nil {
		change(&t)
	}
	return t.Encode()
}

// TestHubRefused checks for one line that says what to do, and exit code 2.
func TestHubRefused(t *testing.T) {
	in, token := clitest.Bundled("router-plain.pcapng"), aToken(nil)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--site", "paris"}, "needs --hub"},
		{[]string{"--verdict-wait", "1s"}, "needs --hub"},
		{[]string{"--hub", "fd9:" + token[4:]}, "another version"},
		{[]string{"--hub", token[:50]}, "characters are missing"},
		{[]string{"--hub", "nats://hub.example.org"}, "$FLOWDEDUP_TOKEN"},
		{[]string{"--hub", "no-such-file"}, "flowdedup-hub join-token"},
		{[]string{"--hub", "."}, "flowdedup-hub join-token"},
		{[]string{"--hub", empty}, "flowdedup-hub join-token"},
		{[]string{"--hub", token, "--site", "rome"}, "flowdedup-hub join-token rome"},
		{[]string{"--hub", token, "--verdict-wait", "0"}, "more than 0"},
		{[]string{"--hub", token, "--verdict-wait", "-1s"}, "negative"},
		{[]string{"--hub", token, "--identity", "inner"}, "the sites of this hub compare l3"},
		{[]string{"--hub", token, "--window", "2ms"}, "the window of this hub is 1ms"},
		{[]string{"--hub", token, "--window", "landmark:1ms"}, "--window landmark:1ms: the window of this hub is 1ms"},
		{[]string{"--hub", token, "--key", strings.Repeat("0", 64)}, "--key"},
		{[]string{"--hub", token, "--ignore", "l4-checksum"}, "--ignore l4-checksum: the sites of this hub ignore nothing else"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Ignore = "tcp-seq" }), "--ignore", "none"}, "ignore tcp-seq"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Ignore = "nothing" })}, "does not know"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Within = "vlan" }), "--within", "interface"}, "the same vlan"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Within = "vlan:1+2" }), "--within", "vlan:1+3"}, "the same vlan:1+2"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Within = "city" })}, "does not know"},
		{[]string{"--hub", token, "--tunnel", "10800=vxlan"}, "--tunnel 10800=vxlan: the sites of this hub open the usual tunnels"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Tunnels = "5=vxlan" }), "--tunnel", "6=vxlan"}, "open 5=vxlan"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Tunnels = "5=train" })}, "does not know"},
		{[]string{"--hub", token, "--digest", "highway"}, "--digest"},
		{[]string{"--hub", token, "--within", "vlan"}, "--within vlan: the copies of this hub come from any point"},
		{[]string{"--hub", token, "--keep", "flow"}, "--keep"},
		{[]string{"--hub", token, "--prefer", "vlan 1"}, "--prefer"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Identity = "l9" })}, "does not know"},
		{[]string{"--hub", aToken(func(t *hubclient.Token) { t.Seed = "SUxx" })}, "flowdedup-hub join-token"},
	} {
		stdout, stderr, code := clitest.Run(append([]string{"dedup", in}, c.args...)...)
		if code != cli.ExitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, %q, want %q", c.args, code, stderr, c.want)
		}
		if strings.Contains(stderr, token[4:]) {
			t.Errorf("%q: shows the token", c.args)
		}
	}
}

// TestHubAway runs without the hub that it names: all packets stay that would without it.
func TestHubAway(t *testing.T) {
	dir, in := t.TempDir(), clitest.Bundled("router-plain.pcapng")
	alone, away := filepath.Join(dir, "alone.pcapng"), filepath.Join(dir, "away.pcapng")
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(aToken(nil)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := clitest.RunDedup(t, cli.ExitDone, in, "-w", alone, "--keep", "first")
	stdout, stderr, code := clitest.Run("dedup", in, "-w", away, "--hub", file, "--site", "paris", "--verdict-wait", "20ms")
	if code != cli.ExitDone || !sameFiles(t, alone, away) {
		t.Errorf("exit code %d, or another output: %s", code, stderr)
	}
	for _, word := range []string{"cannot be reached", "319 packets stayed unchecked"} {
		if !strings.Contains(stderr, word) {
			t.Errorf("%q says nothing of %q", stderr, word)
		}
	}
	if !strings.Contains(stdout, "0 duplicates found by the hub, 319 packets unchecked") {
		t.Error(stdout)
	}
	t.Setenv("FLOWDEDUP_TOKEN", aToken(func(t *hubclient.Token) { t.URL = "nats://192.0.2.1" }))
	got := clitest.RunDedup(t, cli.ExitDone, in, "--hub", "nats://127.0.0.1:1", "--verdict-wait", "20ms")
	if got.PacketsOut != want.PacketsOut || got.Duplicates != want.Duplicates {
		t.Errorf("%+v, want %+v", got, want)
	}
}
