// SPDX-License-Identifier: Apache-2.0

package cli

// MismatchFlag is the value of --state-mismatch.
type MismatchFlag string

// Mismatches are the values of --state-mismatch.
var Mismatches = []string{"refuse", "begin"}

// Flag returns the flag.
func (m *MismatchFlag) Flag() Flag {
	word := (*string)(m)
	*word = Mismatches[0]
	return Flag{Name: "state-mismatch", Group: GroupAdvanced, To: NewParsed(word, *word, "what", OneOf(Mismatches...)), Words: Mismatches, Help: "if the saved state has other settings: refuse to run, or begin anew and rename the state"}
}

// Begins reports whether a run begins anew.
func (m MismatchFlag) Begins() bool { return string(m) == Mismatches[1] }
