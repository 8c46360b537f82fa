// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFolderEnds ends folders for two inputs of which one had packets: all files have names after a
// clean end and after damage, those with packets partial ones after a signal, and none without packets.
func TestFolderEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(*Set, context.CancelFunc) error
		want   []string
		failed bool
	}{
		"clean":  {func(s *Set, _ context.CancelFunc) error { return s.Commit() }, []string{"a.pcapng", "b.pcap"}, false},
		"damage": {func(s *Set, _ context.CancelFunc) error { return s.Keep() }, []string{"a.pcapng", "b.pcap"}, false},
		"signal": {func(s *Set, stop context.CancelFunc) error { stop(); return s.Keep() }, []string{"a.partial.pcapng"}, true},
		"unread": {func(s *Set, _ context.CancelFunc) error { return s.Discard() }, nil, false},
		"taken": {func(s *Set, _ context.CancelFunc) error {
			if err := os.WriteFile(filepath.Join(s.cfg.Kept, "a.pcapng"), nil, 0o600); err != nil {
				return err
			}
			return s.Commit()
		}, []string{"a.partial.pcapng", "a.pcapng", "b.pcap"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "clean")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := New(ctx, Config{Kept: dir + "/", Folders: true, Inputs: []string{"in/a.pcapng", "other/b.pcap"}})
			if err := s.OpenFiles(ctx); err != nil {
				t.Fatal(err)
			}
			second := New(ctx, Config{Kept: dir, Folders: true, Inputs: []string{"in/c.pcapng"}})
			if err := second.OpenFiles(ctx); err == nil {
				t.Error("two runs write into one folder")
			}
			if err := errors.Join(second.Discard(), s.Write(threePackets(), []uint64{0b010})); err != nil {
				t.Fatal(err)
			}
			err := c.end(s, stop)
			if kept := (*KeptError)(nil); (err != nil) != c.failed || c.failed && name == "signal" && !errors.As(err, &kept) {
				t.Errorf("it ends with %v", err)
			}
			var got []string
			entries, _ := os.ReadDir(dir) // it is gone if nothing was read
			for _, entry := range entries {
				got = append(got, entry.Name())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if o := s.List()[0]; name == "clean" && (o.Packets != 2 || o.Files != 2) {
				t.Errorf("%+v", o)
			}
		})
	}
}
