// SPDX-License-Identifier: Apache-2.0

package show

import (
	"os/exec"
	"testing"
)

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
