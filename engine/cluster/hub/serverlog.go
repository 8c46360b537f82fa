// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// maxTold bounds the warnings of a serverLog in a minute.
const maxTold = 64

// serverLog passes on the warnings of a server, or of a connection to it: the same text once a
// minute, and few different ones. A site can choose the texts, and cause them without end.
type serverLog struct {
	log Logger
	now func() time.Time

	mu     sync.Mutex
	begin  time.Time // of the minute
	told   map[string]bool
	untold int
}

func newServerLog(log Logger) *serverLog {
	return &serverLog{log: log, now: time.Now, told: map[string]bool{}}
}

func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
func (l *serverLog) Warnf(format string, v ...any)  { l.warn(fmt.Sprintf(format, v...)) }
func (l *serverLog) Errorf(format string, v ...any) { l.warn(fmt.Sprintf(format, v...)) }
func (l *serverLog) Fatalf(format string, v ...any) { l.warn(fmt.Sprintf(format, v...)) }

func (l *serverLog) warn(text string) {
	for _, line := range l.lines(text, l.now()) {
		l.log.Warn("NATS: " + line)
	}
}

// lines returns the lines to log.
func (l *serverLog) lines(text string, now time.Time) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begin) >= time.Minute {
		if l.untold > 0 {
			lines = append(lines, fmt.Sprintf("%d more warnings", l.untold))
		}
		l.begin, l.untold = now, 0
		clear(l.told)
	}
	switch {
	case l.told[text]:
	case len(l.told) == maxTold:
		l.untold++
	default:
		l.told[text] = true
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
