// SPDX-License-Identifier: Apache-2.0

package show

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestFormats writes numbers, sizes, shares and durations.
func TestFormats(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(1234567), "1,234,567"}, {Count(math.MaxUint64), "9,223,372,036,854,775,807"},
		{Short(12.345), "12.35"}, {Short(9999), "9999"}, {Short(1_234_567), "1.23M"},
		{Bytes(-1), "0 B"}, {Bytes(uint64(1536)), "1.5 KiB"}, {Bytes(8 << 20), "8.0 MiB"},
		{FlagBytes(1), "1KiB"}, {FlagBytes(1<<20 + 1), "1025KiB"}, {FlagBytes(2 << 20), "2MiB"}, {FlagBytes(10<<20 + 1), "11MiB"},
		{Percent(1, 3, 2), "33.33 %"}, {Percent(1, 0, 1), "0.0 %"},
		{Rate(0), "0"}, {Rate(1e-9), "1.0e-09"}, {Rate(0.125), "12.5 %"},
		{PerSecond(0.25, ""), "0.3/s"}, {PerSecond(999, "bit"), "999 bit/s"}, {PerSecond(1.5e6, "bit"), "1.5 Mbit/s"},
		{Duration(time.Hour), "1h"}, {Duration(90 * time.Second), "1m30s"}, {Duration(0), "0s"},
		{Notes(), ""}, {Notes(Note{0, "lost"}, Note{1000, "cut"}, Note{2, "refused"}), "1,000 cut, 2 refused"},
		{Bar(0.5, 4), "██░░"}, {Bar(math.NaN(), 2), "░░"}, {Bar(7, 2), "██"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestRounded leaves out the digits in which CPUs differ.
func TestRounded(t *testing.T) {
	for p, want := range map[float64]float64{0: 0, 1: 1, 1.0913936421275139e-11: 1.09139e-11, math.Nextafter(0.3, 1): 0.3, math.Inf(1): math.Inf(1)} {
		if got := Rounded(p); got != want {
			t.Errorf("%g is %g, want %g", p, got, want)
		}
	}
	if !math.IsNaN(Rounded(math.NaN())) {
		t.Error("NaN is a number")
	}
}

// TestTimestamp writes nine digits, or none at a full second, in the zone.
func TestTimestamp(t *testing.T) {
	if got := Timestamp(math.MinInt64, time.UTC); got != nil {
		t.Errorf("no time is %s", *got)
	}
	zone := time.FixedZone("", 3600)
	for at, want := range map[int64]string{
		1500: "1970-01-01T01:00:00.000001500+01:00", 1e8: "1970-01-01T01:00:00.100000000+01:00", -1: "1970-01-01T00:59:59.999999999+01:00",
		0: "1970-01-01T01:00:00+01:00", -1e9: "1970-01-01T00:59:59+01:00", 3600e9: "1970-01-01T02:00:00+01:00",
	} {
		if got := Timestamp(at, zone); *got != want {
			t.Errorf("%d: %s, want %s", at, *got, want)
		}
	}
}

// TestTable aligns cells, and ends no line with spaces.
func TestTable(t *testing.T) {
	columns := []Column{{Name: "name", Left: true}, {Name: "packets"}, {Left: true}}
	rows := [][]string{{"a", "1", ""}, {"longer", "22", "a note"}}
	for _, c := range []struct {
		most int
		want string
	}{
		{0, "name    packets\na             1\nlonger       22  a note"},
		{23, "name    packets\na             1\nlonger       22  a note"},
		{22, "name    packets\na             1\nlonger       22\ntoo narrow for a\n  column"},
		{10, "name\na\nlonger\ntoo narrow\n  for\n  packets,\n  a column"},
	} {
		if got := strings.Join(Table(columns, rows, c.most), "\n"); got != c.want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.most, got, c.want)
		}
	}
}

// TestNarrowTable continues names of numbers, then texts, on lines of their own.
func TestNarrowTable(t *testing.T) {
	columns := []Column{{Name: "conversation", Left: true}, {Name: "only in A"}}
	rows := [][]string{{"udp 10.0.0.1 <> 10.0.0.2", "1,234"}}
	for _, c := range []struct {
		most int
		want string
	}{
		{33, "                          only in\nconversation                    A\nudp 10.0.0.1 <> 10.0.0.2    1,234"},
		{26, "                     only\nconversation          in A\nudp 10.0.0.1 <>      1,234\n10.0.0.2"},
	} {
		if got := strings.Join(Table(columns, rows, c.most), "\n"); got != c.want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.most, got, c.want)
		}
	}
}

// TestText fits lines and commands to a terminal, and leaves them as they are elsewhere.
func TestText(t *testing.T) {
	const line = "  A           in.pcap: 12 packets, 3 of them in A alone\n"
	for _, c := range []struct {
		columns             int
		line, command, want string
	}{
		{0, line, "flowdedup dedup in.pcap", line + "    flowdedup dedup in.pcap\n"},
		{80, line, "flowdedup dedup in.pcap", line + "    flowdedup dedup in.pcap\n"},
		{
			32, line, "flowdedup dedup 'a file'",
			"  A           in.pcap: 12\n              packets, 3 of them\n              in A alone\n    flowdedup dedup 'a file'\n",
		},
		{
			24, "two words and more of them\n", `flowdedup dedup 'a b'\''c d' "e f" g\ h`,
			"two words and more of\n  them\n    flowdedup dedup \\\n      'a b'\\''c d' \\\n      \"e f\" g\\ h\n",
		},
		{10, "averylongname.pcap: x\n", "", "averylongname.pcap:\n  x\n    \n"},
	} {
		out, text := new(strings.Builder), NewText(c.columns)
		text.WriteString(c.line)
		text.Command("    ", c.command)
		if err := text.Flush(out); err != nil || out.String() != c.want {
			t.Errorf("%d columns: %v\n%s\nwant\n%s", c.columns, err, out, c.want)
		}
	}
}

// TestSparkline has columns of whole numbers of values.
func TestSparkline(t *testing.T) {
	rising := make([]float64, 60)
	for i := range rising {
		rising[i] = float64(i)
	}
	for _, c := range []struct {
		series  []float64
		columns int
		want    string
	}{
		{rising, 12, "▁▁▂▃▃▄▅▆▆▇██"},
		{rising, 14, "▁▁▂▃▃▄▅▆▆▇██"},
		{[]float64{0, 0}, 60, strings.Repeat(" ", 58) + "▁▁"},
		{[]float64{5}, 10, "         █"},
		{nil, 10, "          "},
	} {
		if got := Sparkline(c.series, 60, c.columns); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.series, c.columns, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"":                         "",
		`C:\captures\büro 1.pcap`:  `C:\captures\büro 1.pcap`,
		"\x1b[2J\x1b]0;x\a":        `\x1b[2J\x1b]0;x\a`,
		"a\nb\tc\r":                `a\nb\tc\r`,
		"\u009b31m\u202egnp\u200b": `\u009b31m\u202egnp\u200b`,
		"\xff\xc3(\x7f":            `\xff\xc3(\x7f`,
		"�":                        "�",
		"\U000e0001":               `\U000e0001`,
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// FuzzPrintable checks that the result is printable, and that printable text does not
// change.
func FuzzPrintable(f *testing.F) {
	f.Add("eth0")
	f.Add("\x1b[31m\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("%q: %q", s, got)
			}
		}
		if Printable(got) != got {
			t.Errorf("%q changed again", got)
		}
	})
}

// TestQuote has a shell read what Quote wrote. Names that do not print are written with
// numbers, so that a terminal shows nothing else than what the shell gets.
func TestQuote(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, word := range []string{"a.pcap", "", "two words", "it's", "$HOME", "\x1b[2Ja.pcap", "a\nb", "\u202egnp.exe", "\xff\xfe'", "\x1b]0;'$(id)'\a"} {
		quoted := Quote(word)
		if Printable(quoted) != quoted {
			t.Errorf("%q is quoted as %q", word, quoted)
		}
		out, err := exec.Command(bash, "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q, quoted as %s, is %q to a shell, %v", word, quoted, out, err)
		}
	}
}

// TestTimestamps compares times within and across seconds, before 1970 too, with Timestamp.
func TestTimestamps(t *testing.T) {
	zone := time.FixedZone("", 5*3600+1800)
	s := Timestamps{Zone: zone}
	for _, at := range []int64{0, 1, 999_999_999, 1e9, 1e9 + 120, 5, -1, -1e9, -1e9 - 1, 1700000000123456789, math.MaxInt64, 7} {
		if got, want := string(s.Append([]byte("x"), at)), "x"+*Timestamp(at, zone); got != want {
			t.Errorf("%d: %s, not %s", at, got, want)
		}
	}
}
