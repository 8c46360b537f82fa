// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// command returns the command line that does what is recommended.
func command(cfg *config, r *recommendation) string {
	words := []string{"flowdedup", "dedup"}
	if len(cfg.Inputs) == 0 {
		words[1] = "live"
		for _, name := range cfg.Ring.Interfaces {
			words = append(words, "-i", name)
		}
		for _, target := range cfg.Mirror.Targets {
			words = append(words, "-i", target.String())
		}
	}
	words = append(words, "--identity", r.Identity, "--window", r.Window)
	if r.IdentityBytes > 0 {
		words = append(words, "--identity-bytes", strconv.Itoa(r.IdentityBytes))
	}
	if ignore := besides(r.Ignore, cfg.Profile.Ignore); len(ignore) > 0 {
		words = append(words, "--ignore", strings.Join(ignore, ","))
	}
	if r.Across {
		words = append(words, "--across")
	}
	if r.For != "" {
		words = append(words, "--for", r.For)
	}
	if strip := besides(r.Strip, cfg.Profile.Strip); len(strip) > 0 {
		words = append(words, "--strip", strings.Join(strip, ","))
	}
	words = append(words, cfg.Flags...)
	words = append(words, "-w", output(cfg.Inputs))
	for _, name := range cfg.Inputs {
		if strings.HasPrefix(name, "-") && name != "-" {
			words = append(words, "-r")
		}
		words = append(words, name)
	}
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

// output returns a name for the output that no input has.
func output(inputs []string) string {
	name := "clean.pcapng"
	for i := 2; slices.ContainsFunc(inputs, func(in string) bool { return filepath.Base(in) == name }); i++ {
		name = "clean" + strconv.Itoa(i) + ".pcapng"
	}
	return name
}

// plain are the bytes that no shell treats in a special way.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=@%+"

// quote returns a word as a shell reads it: POSIX 2024, section 2.2.4, if names of files have
// bytes that do not print, and could change what a terminal shows.
func quote(word string) string {
	if show.Printable(word) != word {
		return dollarQuote(word)
	}
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// dollarQuote writes all bytes but those of plain as octal numbers.
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
