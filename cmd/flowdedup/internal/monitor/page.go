package monitor

import (
	"bytes"
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

//go:embed page.html
var pageText string

// page is parsed when it is asked for: most runs serve none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// pageData is what the page shows.
type pageData struct {
	*dashboard
	Health health
	Rates  rateChart
}

// rateChart is a chart of the last minute: areas below polylines, in a box as wide as
// the rates that are remembered and rateHeight high.
type rateChart struct {
	Width, Height       int
	Packets, Duplicates string // points
	Top                 string // the rate at the upper edge, "" for no chart
}

const rateHeight = 100

// servePage answers with a page that needs nothing else and loads itself again.
func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	h := s.health()
	s.mu.Lock()
	data := pageData{dashboard: newDashboard(&s.history), Health: h, Rates: chartOf(&s.history)}
	s.mu.Unlock()
	var buf bytes.Buffer
	if err := page().Execute(&buf, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(buf.Bytes()) // who has gone needs no page
}

// chartOf draws the rates of packets and of the duplicates among them.
func chartOf(h *history) rateChart {
	packets := h.series(func(r rate) float64 { return r.packets })
	if len(packets) < 2 {
		return rateChart{}
	}
	top := slices.Max(packets)
	return rateChart{
		Width: historyLength - 1, Height: rateHeight,
		Packets:    area(packets, top),
		Duplicates: area(h.series(func(r rate) float64 { return r.duplicates }), top),
		Top:        show.PerSecond(top, ""),
	}
}

// area returns the corners of the area below a line that ends at the right edge.
func area(series []float64, top float64) string {
	if top <= 0 {
		top = 1
	}
	var out strings.Builder
	left := historyLength - len(series)
	fmt.Fprintf(&out, "%d,%d", left, rateHeight)
	for i, v := range series {
		fmt.Fprintf(&out, " %d,%.1f", left+i, rateHeight*(1-v/top))
	}
	fmt.Fprintf(&out, " %d,%d", historyLength-1, rateHeight)
	return out.String()
}

// maxAge is how old the last status may be: a run gives one each second.
const maxAge = 10 * time.Second

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
	if waited > maxAge {
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
