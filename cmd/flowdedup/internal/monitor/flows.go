package monitor

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// FlowServer shows a run on flow records over HTTP, as Server shows one on packets.
// Methods may be called concurrently.
type FlowServer struct {
	web
	page func(io.Writer, *flows.Summary) error

	mu      sync.Mutex
	last    *flows.Summary
	updated time.Time
}

// ListenFlows serves on addr, the value of a flag, as Listen does. Page writes the page for
// people.
func ListenFlows(flag, addr string, page func(io.Writer, *flows.Summary) error) (*FlowServer, error) {
	s := &FlowServer{page: page}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", limitConcurrency(s.metrics))
	mux.HandleFunc("GET /healthz", limitConcurrency(s.health))
	mux.HandleFunc("GET /{$}", limitConcurrency(s.servePage))
	return s, s.listen(flag, addr, withSecurityHeaders(mux))
}

// Update takes the summary so far. The caller must not change it afterwards.
func (s *FlowServer) Update(summary *flows.Summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.updated = summary, time.Now()
}

// latest returns the last summary, nil before the first, and its age.
func (s *FlowServer) latest() (*flows.Summary, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, time.Since(s.updated)
}

func (s *FlowServer) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metricsType)
	if summary, _ := s.latest(); summary != nil {
		_ = writeMetrics(w, flowMetrics(summary), nil) // an error means that the client left
	}
	_ = writeMetrics(w, processMetrics(), nil)
}

// health answers with status 503 if the run hangs.
func (s *FlowServer) health(w http.ResponseWriter, _ *http.Request) {
	summary, age := s.latest()
	w.Header().Set("Cache-Control", "no-store")
	if summary == nil || age > maxAge {
		http.Error(w, "no status for "+age.Round(time.Second).String(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n") // an error means that the client left
}

// pageEvery is how many seconds a browser waits before it loads the page again.
const pageEvery = "5"

func (s *FlowServer) servePage(w http.ResponseWriter, _ *http.Request) {
	summary, _ := s.latest()
	if summary == nil {
		summary = new(flows.Summary)
	}
	var buf bytes.Buffer
	if err := s.page(&buf, summary); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Refresh", pageEvery)
	_, _ = w.Write(buf.Bytes()) // an error means that the client left
}

// flowMetrics returns the metrics of a run, sorted by name.
func flowMetrics(s *flows.Summary) []metric {
	of := func(name, help, kind string, v uint64) metric {
		return constant("flowdedup_flows_"+name, help, kind, float64(v))
	}
	perPoint := func(name, help, kind string, value func(p *flows.PointSummary) float64) metric {
		return metric{"flowdedup_flows_" + name, help, kind, []string{"point"}, func(_ *live.Status, give func(float64, ...string)) {
			for i := range s.Points {
				give(value(&s.Points[i]), s.Points[i].Name)
			}
		}}
	}
	all := []metric{
		of("bytes_total", "Bytes that records reported.", counter, s.BytesIn),
		of("copies_total", "Records that were copies.", counter, s.Copies),
		of("copied_bytes_total", "Bytes that copies reported.", counter, s.CopiedBytes),
		of("datagrams_dropped_total", "Datagrams dropped: by the kernel because a buffer was full, or unread at the end.", counter, s.Dropped),
		of("fragments_total", "IP fragments that could not be put together.", counter, s.Fragments),
		of("late_total", "Records that no count has, since their windows were closed or far ahead.", counter, s.Late),
		of("lost_total", "Records or messages that never came, as sequence numbers tell.", counter, s.Lost),
		of("memory_bytes", "Memory of all that grows with the input.", gauge, uint64(s.MemoryBytes)),
		of("memory_limit_bytes", "What memory_bytes may become.", gauge, uint64(s.MemoryLimit)),
		of("messages_total", "Messages of exporters, or records of text.", counter, s.Messages),
		of("messages_waiting", "Messages that wait for a template.", gauge, s.Waiting),
		of("other_events_total", "Records of text that are of something else than flows.", counter, s.Other),
		perPoint("point_clock_offset_seconds", "How far the clock of a point is behind ours.", gauge, func(p *flows.PointSummary) float64 { return float64(p.OffsetNS) / 1e9 }),
		perPoint("point_copies_total", "Records of a point that were copies.", counter, func(p *flows.PointSummary) float64 { return float64(p.Copies) }),
		perPoint("point_records_total", "Records of a point.", counter, func(p *flows.PointSummary) float64 { return float64(p.Records) }),
		of("records_total", "Records that were read.", counter, s.RecordsIn),
	}
	if s.Relayed != nil {
		all = append(all, of("relay_failed_total", "Messages that the collector did not take.", counter, s.Relayed.Failed),
			of("relayed_total", "Messages sent to the collector.", counter, s.Relayed.Messages))
	}
	return append(all, of("reassembled_total", "Datagrams that were put together out of IP fragments.", counter, s.Reassembled),
		of("replayed_total", "Messages that came again.", counter, s.Replayed),
		of("restarts_total", "Restarts of exporters.", counter, s.Restarts),
		of("sampled_total", "Records of exporters that sample packets.", counter, s.Sampled),
		of("unchecked_total", "Records that passed unchecked.", counter, s.Unchecked),
		of("undecodable_total", "Records, sets and messages that could not be read.", counter, s.Undecodable),
		metric{"flowdedup_flows_unread_total", "Values of text that were there and could not be read.", counter, []string{"field"}, func(_ *live.Status, give func(float64, ...string)) {
			for _, u := range s.Unread {
				give(float64(u.Values), u.Field)
			}
		}},
		of("untimed_total", "Records in no window for want of a time.", counter, s.Untimed),
		of("written_early_total", "Records written before they had waited for their copies, for want of memory.", counter, s.Early))
}
