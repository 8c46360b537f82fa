// SPDX-License-Identifier: Apache-2.0

package cli

// MismatchFlag is the value of --state-mismatch.
type MismatchFlag string

// mismatches are the values of --state-mismatch.
var mismatches = []string{"refuse", "begin"}

// Flag returns the flag.
func (m *MismatchFlag) Flag() Flag {
	word := (*string)(m)
	*word = mismatches[0]
	return Flag{Name: "state-mismatch", Group: GroupAdvanced, To: NewParsed(word, *word, "what", OneOf(mismatches...)), Words: mismatches, Help: "what a state of other settings does: refuse,\nor begin anew and keep it under another name"}
}

// Begins reports whether a run begins anew.
func (m MismatchFlag) Begins() bool { return string(m) == mismatches[1] }
