package show

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable makes text that comes from outside harmless to a terminal, and one line long.
// Names of files and interfaces above all may hold escape sequences, which could move the
// cursor, or colour and hide what else is there. Whatever does not print is
// written as Go writes it in a string: \n, \x1b, \u202e, and \xff for what is no UTF-8.
func Printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case unprintable(r):
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
