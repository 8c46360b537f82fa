// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strings"
)

// plain are the bytes that no shell treats in a special way.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=@%+"

// Quote returns a word as a shell reads it: POSIX 2024, section 2.2.4, if names of files have
// bytes that do not print, and could change what a terminal shows.
func Quote(word string) string {
	if Printable(word) != word {
		return dollarQuote(word)
	}
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// dollarQuote writes all bytes that are not in plain as octal numbers.
func dollarQuote(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(word) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteString("'")
	return b.String()
}
