package cli

import (
	"slices"

	"github.com/spf13/pflag"
)

// What tests of command lines need to know of this package.
var (
	MeasuringMethods = measuringMethods
	HasGroups        = hasGroups
	WordsOf          = wordsOf
)

const (
	TokenVariable  = tokenVariable
	MaxSlidingSpan = maxSlidingSpan
	NoCommand      = noCommand
)

// HasHeading reports whether help shows a flag below a heading of ours.
func HasHeading(f *pflag.Flag) bool {
	g := groupOf(f)
	return g != groupNone && slices.Contains(flagGroups, g)
}

// IsAdvanced reports whether only the long help shows a flag.
func IsAdvanced(f *pflag.Flag) bool { return groupOf(f) == GroupAdvanced }

// EachHabit calls f with each answer to what users of other programs type.
func EachHabit(f func(typed, commands, answer string)) {
	for _, h := range habits {
		f(h.typed, h.commands, h.answer)
	}
}
