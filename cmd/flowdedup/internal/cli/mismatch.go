// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/pflag"

// mismatchFlag is the value of --state-mismatch.
type mismatchFlag string

// mismatches are the values of --state-mismatch.
var mismatches = []string{"refuse", "begin"}

func (m *mismatchFlag) register(fs *pflag.FlagSet) {
	word := (*string)(m)
	*word = mismatches[0]
	fs.Var(NewParsed(word, *word, "what", OneOf(mismatches...)), "state-mismatch", "what a state of other settings does: refuse,\nor begin anew and keep it under another name")
}

// begins reports whether a run begins anew.
func (m mismatchFlag) begins() bool { return string(m) == mismatches[1] }
