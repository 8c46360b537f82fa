// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// outcome is all that a reader returns for a text.
type outcome struct {
	records []records.Record
	lines   []string
	counts  records.Counts
	unread  []Unread
	err     string
	array   bool
}

// outcomeOf reads text. A plain reader parses each record, and looks at lines byte by byte.
func outcomeOf(data io.Reader, format string, plain bool) (o outcome) {
	r, err := NewReader(data, "flows", Config{Format: format})
	if err != nil {
		return outcome{err: err.Error()}
	}
	if plain {
		r.shapes.most = -1
		r.slow = true
	}
	for b := new(records.Batch); ; {
		if err := r.ReadBatch(b); err != nil {
			o.err = err.Error()
			break
		}
		for _, rec := range b.Records {
			o.lines = append(o.lines, string(b.Raw[rec.Offset:rec.Offset+rec.Length]))
			rec.Offset = 0
			o.records = append(o.records, rec)
		}
	}
	o.counts, o.unread, o.array = r.Counts(), r.AppendUnread(nil), r.array
	return o
}

// checkOutcome compares readers with a plain one.
func checkOutcome(t *testing.T, data []byte, format string) {
	t.Helper()
	want := outcomeOf(bytes.NewReader(data), format, true)
	readers := []io.Reader{bytes.NewReader(data)}
	if !want.array { // else each piece of damage counts
		var pieces []io.Reader
		for piece := range slices.Chunk(data, 1000) {
			pieces = append(pieces, bytes.NewReader(piece))
		}
		readers = append(readers, io.MultiReader(pieces...), iotest.DataErrReader(bytes.NewReader(data)))
	}
	for _, r := range readers {
		if got := outcomeOf(r, format, false); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %d records %+v %v %s, want %d, %+v %v %s, of\n%.3000s", format, len(got.records), got.counts, got.unread, got.err,
				len(want.records), want.counts, want.unread, want.err, data)
		}
	}
}

// edits are pieces of text that edited records get.
var edits = []string{
	"", `"`, `\`, `\"`, "{", "}", "[", "]", ",", ":", " ", "\n", "\r", "\t", "null", "true", "1.5e3", "-1", "0", "00", "x", `"a":`, `"a":1,`, `{"b":[1,"c"]}`, ",,", "\x00",
	"127.0.0.1", "::1", "0x1f", "18446744073709551616", "2026-11-21T06:09:04.828+0000", "06:60:00", "é", "ICMP", "|", ";", "  ", "\n#separator \\x2c\n", "\n#separator \\x0d\n\r1" + strings.Repeat("\r1", 19) + "\n", "\n#unset_field\t6\n",
}

// edited returns a line with a few random edits.
func edited(r *rand.Rand, line string) string {
	for n := r.IntN(3); n > 0 && line != ""; n-- {
		at := r.IntN(len(line))
		switch edit := edits[r.IntN(len(edits))]; r.IntN(4) {
		case 0: // other values of the same length
			line = line[:at] + string(rune('0'+r.IntN(10))) + line[at+1:]
		case 1:
			line = line[:at] + edit + line[at:]
		case 2:
			line = line[:at] + edit + line[min(at+1+r.IntN(8), len(line)):]
		default:
			other := r.IntN(len(line))
			line = line[:at] + line[other:min(other+r.IntN(30), len(line))] + line[at:]
		}
	}
	return line
}

// TestKnownShapes reads records of known shapes as the parser does, whatever was changed in them.
func TestKnownShapes(t *testing.T) {
	for name, text := range speedTexts {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			line := strings.TrimSuffix(text[1], "\n")
			variants := []string{line, edited(r, line), edited(r, line), strings.ReplaceAll(line, ":", " : ")}
			lines := []string{line}
			for range 200 {
				v := variants[r.IntN(len(variants))]
				if r.IntN(2) == 0 {
					v = edited(r, v)
				}
				lines = append(lines, v)
			}
			checkOutcome(t, []byte(text[0]+strings.Join(lines, "\n")), name2format[name])
			if text[0] == "" {
				checkOutcome(t, []byte("["+strings.Join(lines, ",\n")+"]"), name2format[name])
			}
		}
	}
}

var name2format = map[string]string{"suricata": "suricata-flow", "goflow2": "goflow2", "hubble": "hubble", "nfdump": "nfdump", "zeek": "zeek-conn", "quoted": "nfdump", "aws": "aws"}

// FuzzShapes does the same with records that a fuzzer finds. Each comes twice, so its shape is known.
func FuzzShapes(f *testing.F) {
	for _, text := range speedTexts {
		f.Add(text[0], text[1], text[1])
	}
	f.Fuzz(func(t *testing.T, head, one, other string) {
		for _, format := range []string{"", "goflow2", "nfdump", "suricata-flow"} {
			checkOutcome(t, []byte(head+one+one+other+one+other+other), format)
			checkOutcome(t, []byte("["+one+","+one+","+other+","+one+"]"), format)
		}
	})
}

// TestQuickValues compares what reads usual values with what reads all. Bytes behind values do not count.
func TestQuickValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	some := func(v string) []byte {
		v = edited(r, v)
		return []byte(v + edits[r.IntN(len(edits))] + "0123456789.:,\"                 ")[:len(v)]
	}
	var kept times
	for range 100_000 {
		v := some(fmt.Sprintf("%d.%d.%d.%d", r.IntN(300), r.IntN(300)>>r.IntN(9), r.IntN(300)>>r.IntN(9), r.IntN(300)))
		want, err := netip.ParseAddr(string(v))
		if got, ok := dotted(v); ok != (err == nil && want.Is4()) || ok && got != want {
			t.Fatalf("address %q: %v %v, want %v", v, got, ok, want)
		}
		v = some(fmt.Sprint(r.Uint64() >> r.IntN(64)))
		if r.IntN(2) == 0 {
			v = some(fmt.Sprintf("%s.%d", v, r.Uint64()>>r.IntN(64)))
		}
		checkNumber(t, v)
		v = some(time.Unix(1.8e9+r.Int64N(200), r.Int64N(1e9)).UTC().Format([]string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05.000-0700"}[r.IntN(3)]))
		ns, unit, ok := kept.read(start, v)
		if wantNS, wantUnit, fine := new(times).read(start, v); ns != wantNS || unit != wantUnit || ok != fine {
			t.Fatalf("time %q: %d %v %v, want %d %v %v", v, ns, unit, ok, wantNS, wantUnit, fine)
		}
	}
}

// plainNumber is a number in its usual form.
var plainNumber = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]*))?$`)

// checkNumber compares how number and decimal read a value with how strconv does.
func checkNumber(t *testing.T, v []byte) {
	t.Helper()
	parts := plainNumber.FindSubmatch(v)
	if parts == nil {
		return
	}
	want, err := strconv.ParseUint(string(parts[1]), 10, 64)
	fine := err == nil && want/10 < math.MaxUint64/10 // decimal leaves out the greatest
	fraction, _ := strconv.ParseUint((string(parts[2]) + "000000000")[:9], 10, 64)
	if n, rest, digits, ok := decimal(v); ok != fine || ok && (n != want || rest != fraction || digits != len(parts[2])) {
		t.Fatalf("decimal %q: %d %d %d %v, want %d %d", v, n, rest, digits, ok, want, fraction)
	}
	if n, ok := number(v, 1<<40); ok != (fine && want <= 1<<40) || ok && n != want {
		t.Fatalf("number %q: %d %v, want %d", v, n, ok, want)
	}
}
