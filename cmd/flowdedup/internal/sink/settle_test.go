// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// threePackets returns a batch of packets with records.
func threePackets() *capture.Batch {
	b := &capture.Batch{}
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i := range byte(3) {
		b.Append(capture.Frame{Time: int64(i)}, []byte{i})
	}
	return b
}

// TestEndLoses counts the packets that were given to an output and gathered there, and that
// its end could not write.
func TestEndLoses(t *testing.T) {
	for _, live := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			a := &noted{lazy: true, end: errFull, again: again}
			s, _, _ := newSet(live, a, &noted{})
			b := threePackets()
			if err := s.Write(b, []uint64{0}); err != nil {
				t.Fatal(err)
			}
			err := s.Commit()
			if err == nil || !strings.Contains(err.Error(), errFull.Error()) {
				t.Errorf("live %v: %v", live, err)
			}
			if live && !strings.Contains(err.Error(), "packets lost") {
				t.Errorf("nothing is said of the loss: %v", err)
			}
			n := uint64(len(b.Frames))
			if o := s.List()[0]; o.Lost != n || o.Packets != 0 || o.Failed == "" {
				t.Errorf("live %v, again %v: %+v, want %d lost", live, again, o, n)
			}
			if o := s.List()[1]; o.Lost != 0 || o.Failed != "" {
				t.Errorf("the other one: %+v", o)
			}
		}
	}
}

// TestCutShort has an output fail before the end of the packets. The other one, which ends
// there too, gets a partial name.
func TestCutShort(t *testing.T) {
	for name, opt := range map[string]rotate.Options{"one file": {}, "rotated": {Size: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := New(context.Background(), Config{Kept: filepath.Join(dir, "out.pcap"), Rotate: opt})
			if err := s.OpenFiles(context.Background()); err != nil {
				t.Fatal(err)
			}
			s.outputs = append(s.outputs, &output{destination: &noted{fail: errFull}, name: "full"})
			if err := s.Write(threePackets(), []uint64{0}); err == nil {
				t.Fatal("nothing failed")
			}
			_ = s.Keep()
			names, err := filepath.Glob(filepath.Join(dir, "[^.]*"))
			if err != nil || len(names) != 1 || !strings.HasSuffix(names[0], ".partial.pcap") {
				t.Errorf("%q, %v", names, err)
			}
			if o := s.List(); slices.ContainsFunc(o[:1], func(o Output) bool { return o.Lost != 0 || o.Packets == 0 }) {
				t.Errorf("%+v", o)
			}
		})
	}
}
