package cli

import (
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// notice prints what the user may want to know although nothing is wrong.
func (e *env) notice(text string) {
	if e.quiet {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line("noticed: " + text)
}

// noticeTunnels points to identity inner where most packets travel in tunnels.
func noticeTunnels(e *env, s *dedup.Summary) {
	if s.InTunnels <= 0.5 {
		return
	}
	names := make([]string, len(s.Tunnels))
	for i, t := range s.Tunnels {
		names[i] = t.String()
	}
	e.notice(fmt.Sprintf("%.0f %% of packets are %s; for copies inside of tunnels try --identity inner",
		100*s.InTunnels, strings.Join(names, ", ")))
}
