// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// maxLogged bounds the warnings of a serverLog in a minute.
const maxLogged = 64

// serverLog logs the warnings of a server, or of a connection to it: each text once a minute, and
// at most maxLogged texts. A site can choose the texts, and cause them without end.
type serverLog struct {
	log Logger
	now func() time.Time

	mu      sync.Mutex
	begin   time.Time // of the minute
	logged  map[string]bool
	omitted int
}

func newServerLog(log Logger) *serverLog {
	return &serverLog{log: log, now: time.Now, logged: map[string]bool{}}
}

// warn logs what NATS warns of.
func (l *serverLog) warn(text string) { l.say("NATS: " + text) }

// say logs a warning.
func (l *serverLog) say(text string) {
	for _, line := range l.lines(text, l.now()) {
		l.log.Warn(line)
	}
}

// lines returns the lines to log.
func (l *serverLog) lines(text string, now time.Time) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begin) >= time.Minute {
		if l.omitted > 0 {
			lines = append(lines, fmt.Sprintf("%d more warnings", l.omitted))
		}
		l.begin, l.omitted = now, 0
		clear(l.logged)
	}
	switch {
	case l.logged[text]:
	case len(l.logged) == maxLogged:
		l.omitted++
	default:
		l.logged[text] = true
		lines = append(lines, strings.Map(harmless, text))
	}
	return lines
}

// harmless replaces unprintable characters: a client may put them into the name of a
// subject.
func harmless(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
