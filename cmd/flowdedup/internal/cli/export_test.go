// SPDX-License-Identifier: Apache-2.0

package cli

// NoCommand is what tests of command lines need to know of this package.
const NoCommand = noCommand

// EachHabit calls f with each answer to what users of other programs type.
func EachHabit(f func(typed, commands, answer string)) {
	for _, h := range habits {
		f(h.typed, h.commands, h.answer)
	}
}
