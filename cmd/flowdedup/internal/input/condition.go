// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/capture/bpf"
)

// Condition chooses packets: by an interface, by an input, or by a filter. At most one of
// the three is set. The zero value chooses none.
type Condition struct {
	Interface string // the name of the interface in the capture, or of the live interface
	Input     string // the input as Open was given it
	Filter    bpf.Filter
}

// ParseCondition reads "interface NAME", "input NAME" or a filter expression.
func ParseCondition(text string) (Condition, error) {
	text = strings.TrimSpace(text)
	word, name, _ := strings.Cut(text, " ")
	name = strings.TrimSpace(name)
	switch {
	case text == "":
		return Condition{}, errors.New("is empty")
	case word != "interface" && word != "input":
		return Condition{Filter: bpf.Filter{Expr: text}}, nil
	case name == "":
		return Condition{}, fmt.Errorf("needs a name after the word %s", word)
	case word == "interface":
		return Condition{Interface: name}, nil
	}
	return Condition{Input: name}, nil
}

// None reports whether the condition is the zero value.
func (c *Condition) None() bool { return c.Interface == "" && c.Input == "" && c.Filter.All() }

// String returns the condition as ParseCondition reads it, "" for none.
func (c *Condition) String() string {
	switch {
	case c.Interface != "":
		return "interface " + c.Interface
	case c.Input != "":
		return "input " + c.Input
	}
	return c.Filter.Expr
}
