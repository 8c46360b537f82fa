package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// fresh is how old the last status may be: a run gives one each second.
const fresh = 10 * time.Second

// health is the answer of /healthz.
type health struct {
	Status     string   `json:"status"` // "ok" or "failing"
	AgeSeconds float64  `json:"age_seconds"`
	Reasons    []string `json:"reasons,omitempty"`
}

// health judges the run by its last status.
func (s *Server) health() health {
	s.mu.Lock()
	status, updated := s.history.last, s.updated
	losing := s.losses.recent(time.Now())
	s.mu.Unlock()
	if status == nil {
		return health{Status: "failing", Reasons: []string{"no status yet"}}
	}
	waited := time.Since(updated)
	h := health{Status: "ok", AgeSeconds: float64(waited.Milliseconds()) / 1e3, Reasons: append(failures(status), losing...)}
	if waited > fresh {
		h.Reasons = append(h.Reasons, fmt.Sprintf("no status for %s", waited.Round(time.Second)))
	}
	if len(h.Reasons) > 0 {
		h.Status = "failing"
	}
	return h
}

// failures names what does not work any more.
func failures(s *live.Status) []string {
	var out []string
	for i := range s.Outputs {
		if o := &s.Outputs[i]; o.Failed != "" {
			out = append(out, fmt.Sprintf("output %s: %s", o.Name, o.Failed))
		}
	}
	if f := s.Forward; f != nil && f.Failed != "" {
		out = append(out, fmt.Sprintf("forward %s: %s", f.Interface, f.Failed))
	}
	if s.State != nil && s.State.Failed != "" {
		out = append(out, fmt.Sprintf("state %s: %s", s.State.Name, s.State.Failed))
	}
	return out
}

// serveHealth answers with one line, and 503 where something fails.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if h.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(&h) // who has gone needs no answer
}
