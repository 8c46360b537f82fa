// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"fmt"
	"strconv"
	"strings"
)

// Subject is the address of a site's message:
// fd.<namespace>.<filter>.<epoch>.<slice>.<op>.<site>.
type Subject struct {
	Namespace string
	Filter    string
	Epoch     uint32
	Slice     int // up to 999, or allSlices
	Op        Op
	Site      string
}

// String returns the subject.
func (s Subject) String() string {
	slice := bundleWord
	if s.Slice != allSlices {
		slice = fmt.Sprintf("s%03d", s.Slice)
	}
	return fmt.Sprintf("fd.%s.%s.%d.%s.%s.%s", s.Namespace, s.Filter, s.Epoch, slice, s.Op, s.Site)
}

// Report returns the subject of a site's reports. Slice and Op do not matter.
func (s Subject) Report() string {
	return fmt.Sprintf("fd.%s.%s.%d.report.%s", s.Namespace, s.Filter, s.Epoch, s.Site)
}

// inboxes begins the subjects of all replies to sites.
const inboxes = "_INBOX."

// Inbox returns the prefix of the subjects of replies to a site.
func Inbox(site string) string { return inboxes + site }

// maxReply is the longest subject of a reply, in bytes. Hubs remember them.
const maxReply = 255

// InInbox reports whether a subject is for replies to the site. A hub answers nowhere
// else: the site has chosen the subject, and the hub may also publish to other subjects.
func InInbox(site, subject string) bool {
	rest, ok := strings.CutPrefix(subject, inboxes)
	if !ok || len(subject) > maxReply {
		return false
	}
	rest, ok = strings.CutPrefix(rest, site)
	return ok && len(rest) > 1 && rest[0] == '.' && !strings.ContainsAny(rest, "*> \t\r\n") &&
		!strings.Contains(rest, "..") && rest[len(rest)-1] != '.'
}

// ParseSubject parses the result of String. It reports false for anything else.
func ParseSubject(text string) (Subject, bool) {
	words := strings.Split(text, ".")
	if len(words) != 7 || words[0] != "fd" {
		return Subject{}, false
	}
	epoch, err := strconv.ParseUint(words[3], 10, 32)
	if err != nil {
		return Subject{}, false
	}
	slice, ok := parseSlice(words[4])
	s := Subject{Namespace: words[1], Filter: words[2], Epoch: uint32(epoch), Slice: slice, Site: words[6]}
	for op := TestAndSet; op <= Ping; op++ {
		if words[5] == op.String() {
			s.Op = op
		}
	}
	return s, ok && s.Op != 0 && ValidName(s.Namespace) && ValidName(s.Filter) && ValidName(s.Site)
}

// parseSlice parses the word of a slice.
func parseSlice(word string) (int, bool) {
	if word == bundleWord {
		return allSlices, true
	}
	digits, ok := strings.CutPrefix(word, "s")
	slice, err := strconv.ParseUint(digits, 10, 16)
	return int(slice), ok && len(digits) == 3 && err == nil
}

// maxName is the longest name of a site, in bytes.
const maxName = 64

// ValidName reports whether a site, filter or namespace can have the name: 1 to 64 letters,
// digits, '-' and '_', as words of subjects are.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
