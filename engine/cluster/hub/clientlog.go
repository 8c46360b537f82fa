// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clientLine matches what a server logs about a client: after its address and its number in the server
// comes what the client may choose.
var clientLine = regexp.MustCompile(`^(\S+):\d+ - cid:(\d+) - ((?s).*)$`)

// clientLog takes the lines of a server. Clients can cause some without end, so these have a limit of
// their own, and repeat themselves whatever the port of the client.
type clientLog struct {
	server  *Server
	own     *serverLog // about the server itself
	clients *serverLog
}

func (l *clientLog) Noticef(string, ...any)         {}
func (l *clientLog) Debugf(string, ...any)          {}
func (l *clientLog) Tracef(string, ...any)          {}
func (l *clientLog) Warnf(format string, v ...any)  { l.warn(fmt.Sprintf(format, v...)) }
func (l *clientLog) Errorf(format string, v ...any) { l.warn(fmt.Sprintf(format, v...)) }
func (l *clientLog) Fatalf(format string, v ...any) { l.warn(fmt.Sprintf(format, v...)) }

func (l *clientLog) warn(text string) {
	line := clientLine.FindStringSubmatch(text)
	if line == nil {
		if !strings.HasSuffix(text, " can not be resolved properly") { // it listens, on a host without another address
			l.own.warn(text)
		}
		return
	}
	host, id, rest := line[1], line[2], line[3]
	switch {
	case strings.HasPrefix(rest, "authentication error"), strings.HasPrefix(rest, "Problem registering"):
		return // the authenticator has said more
	case strings.Contains(rest, " Violation - "):
		if n, err := strconv.ParseUint(id, 10, 64); err == nil && l.server.denied(n) {
			return
		}
	}
	l.clients.warn(host + " - " + rest)
}

// denied counts a message or subscription of a client that the server has denied. It reports whether
// a site has the client.
func (s *Server) denied(client uint64) bool {
	site := s.auth.siteOf(client)
	if site == "" {
		return false
	}
	if warning := s.bad.note(site, badSubject, time.Now()); warning != "" {
		s.log.Warn(warning)
	}
	return true
}

// Denied returns how many messages and subscriptions of sites the server has denied, by their names.
func (s *Server) Denied() map[string]uint64 { return s.bad.all() }
