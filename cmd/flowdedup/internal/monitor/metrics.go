package monitor

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// metric is one name of what is measured, and how its values are taken from a status.
type metric struct {
	name, help string // metrics of the run: the name without "flowdedup_"
	kind       string // counter or gauge
	labels     []string
	values     func(s *live.Status, give func(v float64, labels ...string))
}

const (
	counter = "counter"
	gauge   = "gauge"
)

// metricsType is the text format of Prometheus. It is written here since client_golang
// brings protobuf: 2.5 MB, and a fifth of the start of every command. That package
// stays the judge in tests.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// runMetrics returns all metrics of a run, sorted by name.
func runMetrics() []metric {
	all := slices.Concat(trafficMetrics, kernelMetrics, filterMetrics, distinctMetrics, outputMetrics)
	for i := range all {
		all[i].name = "flowdedup_" + all[i].name
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return all
}

// writeMetrics writes the metrics that have values.
func writeMetrics(w io.Writer, metrics []metric, s *live.Status) error {
	out := bufio.NewWriter(w)
	for i := range metrics {
		m := &metrics[i]
		series := m.series(s)
		if len(series) == 0 {
			continue
		}
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, name := range slices.Sorted(maps.Keys(series)) {
			fmt.Fprintf(out, "%s %s\n", name, strconv.FormatFloat(series[name], 'g', -1, 64))
		}
	}
	return out.Flush()
}

// series returns a value for each combination of labels. Of two outputs with one name
// the first counts: Prometheus refuses a series that comes twice.
func (m *metric) series(s *live.Status) map[string]float64 {
	all := map[string]float64{}
	m.values(s, func(v float64, labels ...string) {
		name := m.name + m.labelled(labels)
		if _, there := all[name]; !there {
			all[name] = v
		}
	})
	return all
}

// labelEscaper escapes the value of a label.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labelled returns {label="value",...}, sorted by label. Values that are not UTF-8, as
// names of files may be, are made so.
func (m *metric) labelled(values []string) string {
	if len(values) == 0 {
		return ""
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = m.labels[i] + `="` + labelEscaper.Replace(strings.ToValidUTF8(v, "\ufffd")) + `"`
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// singleValue takes a value that has no labels.
func singleValue(of func(s *live.Status) float64) func(*live.Status, func(float64, ...string)) {
	return func(s *live.Status, give func(float64, ...string)) { give(of(s)) }
}

// failureGauge is 1 for what has failed.
func failureGauge(failed string) float64 {
	if failed != "" {
		return 1
	}
	return 0
}

// unixSeconds is a time in seconds since the epoch, or 0 for none.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
