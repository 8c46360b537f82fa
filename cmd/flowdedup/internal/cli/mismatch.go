// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/pflag"

// MismatchFlag is the value of --state-mismatch.
type MismatchFlag string

// Mismatches are the values of --state-mismatch.
var Mismatches = []string{"refuse", "begin"}

// Register adds the flag.
func (m *MismatchFlag) Register(fs *pflag.FlagSet) {
	word := (*string)(m)
	*word = Mismatches[0]
	fs.Var(NewParsed(word, *word, "what", OneOf(Mismatches...)), "state-mismatch", "what a state of other settings does: refuse,\nor begin anew and keep it under another name")
}

// Begins reports whether a run begins anew.
func (m MismatchFlag) Begins() bool { return string(m) == Mismatches[1] }
