// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	engine "github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
)

// TestOneFamily merges files that a different program made: each key has only one family, and not
// the same.
func TestOneFamily(t *testing.T) {
	var names []string
	for i, sensor := range []string{"a", "b"} {
		name := filepath.Join(t.TempDir(), "f.counts")
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w := countfile.NewWriter(file, countfile.Header{Sensor: sensor})
		if err := w.Window(countfile.Whole(0, 1)); err != nil {
			t.Fatal(err)
		}
		for _, s := range [][2]string{{"src", "ipv4"}, {"dst", "ipv6"}} {
			words := []uint64{7, uint64(i) + 8}
			if err := w.Series(s[0], s[1], 5, engine.Contents{Width: 64, Count: 2, Words: slices.Values(words)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	got := map[string]uint64{}
	err := merge(context.Background(), &mergeConfig{
		Files: names,
		Rows: func(rows []count.Row) error {
			for _, r := range rows {
				got[r.Of+" "+r.Family] = r.Distinct
			}
			return nil
		},
		Overlap: func(o *overlap) error {
			if len(o.Distinct) != 2 || len(o.Only) != 2 || len(o.Both) != 2 || len(o.Both[0]) != 2 {
				return fmt.Errorf("%s %s: %d sensors, %d only, %d both", o.Of, o.Family, len(o.Distinct), len(o.Only), len(o.Both))
			}
			got[o.Of+" "+o.Family+" both"] = o.Both[0][1].Distinct
			return nil
		},
	})
	want := map[string]uint64{"src ipv4": 3, "dst ipv6": 3, "dst all": 3, "src ipv4 both": 1, "dst ipv6 both": 1, "dst all both": 1}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, want %v", err, got, want)
	}
}
