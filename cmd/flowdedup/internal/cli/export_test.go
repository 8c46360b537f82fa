// SPDX-License-Identifier: Apache-2.0

package cli

import "strings"

// NoCommand is what tests of command lines need to know of this package.
const NoCommand = noCommand

// HabitOf is the answer of a command to an argument, "" for none.
var HabitOf = habitOf

// EachHabit calls f with everything that has an answer, the commands that the answer is for, and the
// answer.
func EachHabit(f func(typed, commands, answer string)) {
	for _, h := range habits {
		for _, typed := range strings.Fields(h.typed) {
			f(typed, h.commands, h.answer)
		}
	}
}
