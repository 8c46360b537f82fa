package monitor

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// metric is one name of what is measured, and how its values are taken from a status.
type metric struct {
	name, help string // the name without what begins all of them
	kind       prometheus.ValueType
	labels     []string
	values     func(s *live.Status, give func(v float64, labels ...string))
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// collector gives Prometheus the values of the last status.
type collector struct {
	metrics []metric
	descs   []*prometheus.Desc
	last    func() *live.Status // nil before the first
}

func newCollector(last func() *live.Status) *collector {
	c := &collector{last: last}
	for _, group := range [][]metric{trafficMetrics, kernelMetrics, filterMetrics, distinctMetrics, outputMetrics} {
		c.metrics = append(c.metrics, group...)
	}
	for _, m := range c.metrics {
		c.descs = append(c.descs, prometheus.NewDesc("flowdedup_"+m.name, m.help, m.labels, nil))
	}
	return c
}

// Describe names all metrics, also those that have no value in this run.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect gives the values of the last status. Names that are not UTF-8, as those of
// files may be, are made so.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.last()
	if s == nil {
		return
	}
	for i, m := range c.metrics {
		m.values(s, func(v float64, labels ...string) {
			for j := range labels {
				labels[j] = strings.ToValidUTF8(labels[j], "\ufffd")
			}
			out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v, labels...)
		})
	}
}

// single takes a value that has no labels.
func single(of func(s *live.Status) float64) func(*live.Status, func(float64, ...string)) {
	return func(s *live.Status, give func(float64, ...string)) { give(of(s)) }
}

// truth is 1 for what has failed.
func truth(failed string) float64 {
	if failed != "" {
		return 1
	}
	return 0
}

// epoch is a time in seconds since the epoch, or 0 for none.
func epoch(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
