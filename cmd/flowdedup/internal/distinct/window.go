package distinct

import (
	"math"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/stamp"
)

// window is what is known about one stretch of time.
type window struct {
	start, end  int64 // as reported; both NoTime for packets without a time
	whole       bool  // bounds follow the packets
	first, last int64 // times of the earliest and the latest packet
	near        int64 // from when on counters for the next window are made, or math.MaxInt64
	keys        []keyCounters
}

func newWindow(start, end int64, cfg *Config) *window {
	w := &window{
		start: start, end: end, whole: cfg.whole() && start != capture.NoTime,
		first: capture.NoTime, last: capture.NoTime, near: math.MaxInt64,
		keys: make([]keyCounters, len(cfg.Keys)),
	}
	if !w.whole && start != capture.NoTime {
		w.near = near(start, end)
	}
	return w
}

// times enters the times of a run of packets.
func (w *window) times(times []int64) {
	if !w.whole {
		return
	}
	for _, t := range times {
		if w.first == capture.NoTime || t < w.first {
			w.first = t
		}
		w.last = max(w.last, t)
	}
}

// rows returns the counts, key by key.
func (w *window) rows(c *Counting) []Row {
	start, end := w.start, w.end
	if w.whole {
		start, end = w.first, w.last
	}
	from, to := stamp.Format(start, c.loc), stamp.Format(end, c.loc)
	var rows []Row
	for i := range w.keys {
		rows = appendRows(rows, from, to, c.cfg.Keys[i].Of.String(), c.families(w, i))
	}
	return rows
}

// families returns the counts of a key in a window by family.
func (c *Counting) families(w *window, key int) []family {
	families := w.keys[key].families(c.cfg.Keys[key])
	for i := range families {
		families[i].counts = c.settledCounts(key, families[i].counts)
	}
	return families
}

// appendRows appends the counts of a key in a window.
func appendRows(rows []Row, start, end *string, of string, families []family) []Row {
	for _, f := range families {
		rows = append(rows, Row{
			WindowStart: start, WindowEnd: end, Of: of, Family: f.name,
			Distinct: f.counts.Distinct, Low: f.counts.Low, High: f.counts.High,
			Packets: f.packets, Method: f.counts.Method, MemoryBytes: f.counts.MemoryBytes, FPR: f.counts.FPR,
		})
	}
	return rows
}

func (w *window) memory(cfg *Config) int {
	total := 0
	for i := range w.keys {
		total += w.keys[i].memory(cfg.Keys[i])
	}
	return total
}

func (w *window) close() error { return closeKeys(w.keys) }
