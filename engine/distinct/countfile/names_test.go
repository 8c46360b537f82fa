// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/engine/distinct"
)

// named returns a file with these names.
func named(t *testing.T, h Header, key, family string, packets uint64) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, h)
	err := w.Window(Whole(0, 1))
	if err == nil {
		err = w.Series(key, family, packets, distinct.Contents{Width: 64, Count: 1, Words: slices.Values([]uint64{5})})
	}
	if _, closed := w.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return bytes.NewReader(b.Bytes())
}

// TestNames refuses names that could change a terminal's display, and keys that the file
// does not list as counted.
func TestNames(t *testing.T) {
	of := func(keys string) []Setting { return []Setting{{OfSetting, keys}} }
	for _, c := range []struct {
		name        string
		header      Header
		key, family string
		want        string // "" for a file that is taken
	}{
		{"plain", Header{"dach-münchen 2", of("src,flow")}, "flow", "ipv4", ""},
		{"no setting", Header{Sensor: "a"}, "flow", "ipv4", ""},
		{"other key", Header{"a", of("src,flow")}, "dst", "ipv4", "a series of dst, which the settings do not name"},
		{"part of a key", Header{"a", of("src,flow")}, "src,flow", "ipv4", "do not name"},
		{"escape in a key", Header{"a", of("\x1b[2J")}, "\x1b[2J", "ipv4", "control characters"},
		{"escape in a family", Header{"a", of("src")}, "src", "ipv4\x1b]0;x\a", "control characters"},
		{"line in a sensor", Header{"a\nb", of("src")}, "src", "ipv4", "control characters"},
		{"direction in a setting", Header{"a", []Setting{{"of", "src"}, {"tz", "\u202eUTC"}}}, "src", "ipv4", "control characters"},
	} {
		from := named(t, c.header, c.key, c.family, 1)
		_, err := Open("f", from, from.Size())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b\n\u202e")):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestPacketsAddUp unites files whose numbers of packets are more than 64 bits hold together.
func TestPacketsAddUp(t *testing.T) {
	var parts []Part
	for i := range 3 {
		from := named(t, Header{Sensor: "a"}, "flow", "ipv6", math.MaxUint64-2)
		f, err := Open("f", from, from.Size())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Part{Sensor: i, Series: &f.Windows[0].Series[0]})
	}
	m, err := Merge(t.Context(), parts, 3, true)
	if err != nil || m.Packets != math.MaxUint64 || m.Distinct != 1 {
		t.Errorf("%v, %d packets, %d distinct", err, m.Packets, m.Distinct)
	}
}
