package show

import (
	"testing"
	"unicode"
)

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

// FuzzPrintable leaves nothing that does not print, and what prints as it is.
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
