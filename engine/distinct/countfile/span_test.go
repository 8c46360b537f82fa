// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"bytes"
	"math"
	"testing"
)

// spans writes a file with one window for each span, and opens it again.
func spans(t *testing.T, sensor string, all ...Span) (*File, string) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, Header{Sensor: sensor})
	for _, s := range all {
		if err := w.Window(s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open("x.counts", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(f.Windows) != len(all) {
		t.Fatal(err, f)
	}
	return f, b.String()
}

// TestSpan reads the counted part of windows as it was written.
func TestSpan(t *testing.T) {
	for _, c := range []struct {
		span      Span
		cut, text string
	}{
		{Whole(100, 200), "", `{"start":100,"end":200}`},
		{Whole(math.MinInt64, math.MinInt64), "", `{"start":-9223372036854775808,"end":-9223372036854775808}`},
		{Span{-10, 10, 0, 10}, "start", `{"start":-10,"end":10,"seen_from":0}`},
		{Span{0, 10, 0, 9}, "end", `{"start":0,"end":10,"seen_to":9}`},
		{
			Span{math.MinInt64, math.MaxInt64, math.MinInt64 + 1, math.MaxInt64 - 1}, "both",
			`{"start":-9223372036854775808,"end":9223372036854775807,"seen_from":-9223372036854775807,"seen_to":9223372036854775806}`,
		},
	} {
		f, text := spans(t, "roof", c.span)
		if got := f.Windows[0].Span; got != c.span || got.Cut() != c.cut || !bytes.Contains([]byte(text), []byte(c.text)) {
			t.Errorf("%+v: %+v, cut %q, want %q", c, got, got.Cut(), text)
		}
	}
}

// TestJointSpan joins the parts of a sensor to the longest, and those of several to what all
// counted.
func TestJointSpan(t *testing.T) {
	open := func(sensor string, from, to int64) *File {
		f, _ := spans(t, sensor, Span{0, 100, from, to})
		return f
	}
	for name, c := range map[string]struct {
		files []*File
		want  Span
	}{
		"one":            {[]*File{open("a", 10, 90)}, Span{0, 100, 10, 90}},
		"two":            {[]*File{open("a", 10, 100), open("b", 0, 90)}, Span{0, 100, 10, 90}},
		"one is cut":     {[]*File{open("b", 0, 100), open("a", 20, 100)}, Span{0, 100, 20, 100}},
		"parts":          {[]*File{open("a", 40, 100), open("b", 5, 100), open("a", 0, 40)}, Span{0, 100, 5, 100}},
		"after another":  {[]*File{open("a", 0, 30), open("b", 60, 100)}, Span{0, 100, 60, 30}},
		"whole by parts": {[]*File{open("a", 0, 50), open("a", 50, 100)}, Whole(0, 100)},
	} {
		_, joints := Join(c.files)
		if len(joints) != 1 || joints[0].Span() != c.want {
			t.Errorf("%s: %+v, want %+v", name, joints[0].Span(), c.want)
		}
		if total := Total(joints); total.Span() != c.want {
			t.Errorf("%s in total: %+v, want %+v", name, total.Span(), c.want)
		}
	}
}
