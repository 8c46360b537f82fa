// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
)

// maxPrinted is how many warnings of its server a hub logs in a minute.
const maxPrinted = 64

// serverLog passes on what the server finds worth a warning: the same text once a minute, and
// few different ones, as a client can choose what the server complains of.
type serverLog struct {
	log Logger
	now func() time.Time

	mu         sync.Mutex
	begin      time.Time // of the minute
	printed    map[string]bool
	suppressed int
}

func newServerLog(log Logger) *serverLog {
	return &serverLog{log: log, now: time.Now, printed: map[string]bool{}}
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

// lines returns what to log.
func (l *serverLog) lines(text string, now time.Time) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begin) >= time.Minute {
		if l.suppressed > 0 {
			lines = append(lines, fmt.Sprintf("%d more warnings", l.suppressed))
		}
		l.begin, l.suppressed = now, 0
		clear(l.printed)
	}
	switch {
	case l.printed[text]:
	case len(l.printed) == maxPrinted:
		l.suppressed++
	default:
		l.printed[text] = true
		lines = append(lines, strings.Map(harmless, text))
	}
	return lines
}

// harmless replaces what does not print: a client may put it into the name of a subject.
func harmless(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
