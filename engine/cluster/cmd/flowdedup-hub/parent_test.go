// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestParentFlags restarts a hub with other flags: settings without a flag stay, and the
// choices of the hub above cannot be changed.
func TestParentFlags(t *testing.T) {
	token := hubclient.Token{
		URL: "nats://192.0.2.1:4222", Namespace: "main", Site: "north", Filter: "packets", Epoch: 1, Slices: 2,
		Key: bytes.Repeat([]byte{7}, 32), WindowUS: 500_000, Identity: "inner",
	}
	file := filepath.Join(t.TempDir(), "north.token")
	if err := os.WriteFile(file, []byte(token.Encode()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(hubclient.TokenVariable, "")
	s := hub.Settings{Slices: 64, WindowUS: 10_000, Identity: "l3", Key: make([]byte, 32)}
	for i, c := range []struct {
		args    string
		wrong   string
		invalid bool
		wait    int64
	}{
		{"--parent-wait 20ms", "needs --parent", false, 0},
		{"--dense", "needs --parent", false, 0},
		{"--parent nowhere.token", "is no token", false, 0},
		{"--parent fd1:x", "bad token", false, 0},
		{"--parent nats://192.0.2.2:4222", "has no token for it", false, 0},
		{"--parent FILE", "", true, 10_000},
		{"", "", false, 10_000},
		{"--parent " + token.Encode() + " --parent-wait 2s", "", false, 2_000_000},
		{"--window 1s", "comes with --parent", false, 0},
		{"--identity l3", "comes with --parent", false, 0},
		{"--slices 7", "no multiple", false, 0},
		{"--slices 8 --filter events --events 1000", "window of events", false, 0},
		{"--slices 8 --filter timers --journal", "journal", false, 0},
		{"--parent-wait 1us", "want a time from", false, 0},
		{"--slices 6 --filter timers", "", true, 2_000_000},
		{"--dense", "", false, 2_000_000},
		{"--filter bloom", "how long", false, 0},
		{"--dense=false --filter bloom --below a,b --top-down 2", "", true, 2_000_000},
		{"--top-down 17", "levels", false, 0},
		{"--below a,a", "names have", false, 0},
		{"--filter timers", "confirm the copies", false, 0},
		{"--below=", "", false, 2_000_000},
		{"--filter timers --dense", "", true, 2_000_000},
		{"--parent=", "", false, 0},
		{"--window 1s", "", true, 0}, // the window of timers
	} {
		var f serveFlags
		command := &cobra.Command{}
		f.define(command)
		args := strings.Fields(c.args)
		if at := slices.Index(args, "FILE"); at >= 0 {
			args[at] = file
		}
		if err := command.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		f.changed = command.Flags().Changed
		next := s
		invalid, err := false, f.check()
		if err == nil {
			invalid, err = f.apply(&next)
		}
		if c.wrong != "" {
			var usage usageError
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !errors.As(err, &usage) {
				t.Errorf("%d: %q: %v, want %q", i, c.args, err, c.wrong)
			}
			continue
		}
		if s = next; err != nil || invalid != c.invalid || s.ParentWaitUS != c.wait {
			t.Errorf("%d: %q: invalid %v, %+v, %v", i, c.args, invalid, s, err)
		}
		if s.Dense != (strings.Contains(c.args, "--dense") && s.Shape.Filter == chain.Timers) || (len(s.Below) > 0) != (s.TopDown > 0) {
			t.Errorf("%d: %q: dense %v, below %q, top-down %d", i, c.args, s.Dense, s.Below, s.TopDown)
		}
		if s.Parent != "" && (s.WindowUS != token.WindowUS || s.Identity != "inner" || s.Key[0] != 7) {
			t.Errorf("%d: %+v", i, s)
		}
		if s.Shape.Filter == chain.Timers && s.Shape.WindowUS != s.WindowUS {
			t.Errorf("%d: %+v", i, s.Shape)
		}
	}
}

// TestTreeShown wants the tree in table, page and metrics.
func TestTreeShown(t *testing.T) {
	st := hub.Status{Slices: 2, Owned: 2, Tree: &hub.TreeStatus{
		Parent: "nats://192.0.2.1:4222", Site: "north", Closed: true, Failure: "there is no connection", Digests: 4000, Hits: 3000,
		Asked: 1000, HitsAbove: 700, Unchecked: 11, Accesses: 4000, Messages: 200, Bytes: 20_000, PerDigest: 0.05, Bits: 40,
		TheoryMsgs: 0.25, TheoryBits: 24, FPR: 1e-9,
	}}
	var table, page bytes.Buffer
	writeTree(&table, st.Tree)
	if err := newPage(&st, &history{}).Write(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"dense tree", "as north", "4,000 digests, 3,000 known here, 700 known above, 11 unchecked", "0.0500 messages and 40.0 bits", "(in theory 0.2500 and 24.0)", "no connection", "are copies, unchecked"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in %s", want, table.String())
		}
	}
	for _, want := range []string{"known above", "The hub above does not answer"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	given := map[string]float64{}
	for _, m := range metrics {
		m.Values(&st, func(v float64, _ ...string) { given[m.Name] = v })
	}
	for name, want := range map[string]float64{
		"tree_digests_total": 4000, "tree_hits_total": 3000, "tree_asked_total": 1000, "tree_parent_hits_total": 700, "tree_unchecked_total": 11,
		"tree_messages_per_digest": 0.05, "tree_theory_messages_per_digest": 0.25, "tree_bits_per_digest": 40, "tree_theory_bits_per_digest": 24,
		"tree_parent_up": 0,
	} {
		if given[name] != want {
			t.Errorf("%s %v, want %v", name, given[name], want)
		}
	}
}
