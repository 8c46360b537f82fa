package monitor

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
)

//go:embed page.html
var pageText string

// page is parsed when it is asked for: most runs serve none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// pageData is what the page shows.
type pageData struct {
	*board
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
	data := pageData{board: describe(&s.history), Health: h, Rates: chartOf(&s.history)}
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
		Width: remembered - 1, Height: rateHeight,
		Packets:    area(packets, top),
		Duplicates: area(h.series(func(r rate) float64 { return r.duplicates }), top),
		Top:        perSecond(top, ""),
	}
}

// area returns the corners of the area below a line that ends at the right edge.
func area(series []float64, top float64) string {
	if top <= 0 {
		top = 1
	}
	var out strings.Builder
	left := remembered - len(series)
	fmt.Fprintf(&out, "%d,%d", left, rateHeight)
	for i, v := range series {
		fmt.Fprintf(&out, " %d,%.1f", left+i, rateHeight*(1-v/top))
	}
	fmt.Fprintf(&out, " %d,%d", remembered-1, rateHeight)
	return out.String()
}
