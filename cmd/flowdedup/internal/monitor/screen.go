package monitor

import (
	"os"
	"strings"

	"golang.org/x/term"
)

// Escape sequences of every terminal of the last decades. The synchronized ones ask
// those that know them to show a frame only when it is whole; others ignore them.
const (
	home       = "\x1b[H"
	eraseRight = "\x1b[K"
	eraseBelow = "\x1b[J"
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
)

// Size of a terminal that does not tell it.
const (
	usualWidth  = 80
	usualHeight = 24
)

// screen draws frames on a terminal, each over the one before.
type screen struct {
	terminal *os.File
	begun    bool
}

// draw returns what draws a frame and leaves the cursor on the line below it. Only
// what has changed changes on the screen, since nothing is erased that is written
// again. The size is asked for each time: the terminal may have another by now.
func (s *screen) draw(b *board, lines []string) []byte {
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = usualWidth, usualHeight
	}
	var out strings.Builder
	out.WriteString(beginFrame)
	if !s.begun {
		// What was on the screen before moves up, out of sight but not lost.
		s.begun = true
		out.WriteString(strings.Repeat("\r\n", height-1))
	}
	out.WriteString(home)
	for _, line := range frame(b, lines, width, height-1, true) {
		out.WriteString(line + eraseRight + "\r\n")
	}
	out.WriteString(eraseBelow + endFrame)
	return []byte(out.String())
}
