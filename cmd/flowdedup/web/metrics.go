// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metric is the name of a metric, and how to take its values from a status of type S.
type Metric[S any] struct {
	Name, Help string
	Kind       string // Counter or Gauge
	Labels     []string
	Values     Values[S]
}

// Values gives each value of a metric with the values of its labels.
type Values[S any] = func(s S, give func(v float64, labels ...string))

// Part returns the only value of a part of a status, and none if the part is nil.
func Part[S, T any](part func(S) *T, value func(*T) float64) Values[S] {
	return func(s S, give func(float64, ...string)) {
		if p := part(s); p != nil {
			give(value(p))
		}
	}
}

// Each returns a value of each part of a status, with its labels.
func Each[S, T any](parts func(S) []T, labels func(*T) []string, value func(*T) float64) Values[S] {
	return func(s S, give func(float64, ...string)) {
		all := parts(s)
		for i := range all {
			give(value(&all[i]), labels(&all[i])...)
		}
	}
}

// Bool returns 1 for true and 0 for false.
func Bool(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// The kinds of metrics.
const (
	Counter = "counter"
	Gauge   = "gauge"
)

// metricsType is the content type of the Prometheus text format. The format is written
// here because client_golang brings protobuf: 2.5 MB, and a fifth of the start of every
// command. The tests of contrib/check compare the metrics of the process with that package's.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// WriteMetrics writes the metrics that have values, in the Prometheus text format. Its errors
// come from w.
func WriteMetrics[S any](w io.Writer, metrics []Metric[S], s S) error {
	out := bufio.NewWriter(w)
	for i := range metrics {
		m := &metrics[i]
		series := m.series(s)
		if len(series) == 0 {
			continue
		}
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Kind)
		for _, name := range slices.Sorted(maps.Keys(series)) {
			fmt.Fprintf(out, "%s %s\n", name, strconv.FormatFloat(series[name], 'g', -1, 64))
		}
	}
	return out.Flush()
}

// series returns a value for each combination of labels. If two outputs have the same
// name, the first counts: Prometheus rejects a series that appears twice.
func (m *Metric[S]) series(s S) map[string]float64 {
	all := map[string]float64{}
	m.Values(s, func(v float64, labels ...string) {
		name := m.Name + m.labeled(labels)
		if _, there := all[name]; !there {
			all[name] = v
		}
	})
	return all
}

// labelEscaper escapes the value of a label.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labeled returns {label="value",...}, sorted by label. It replaces bytes that are not
// UTF-8, as in file names.
func (m *Metric[S]) labeled(values []string) string {
	if len(values) == 0 {
		return ""
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = m.Labels[i] + `="` + labelEscaper.Replace(strings.ToValidUTF8(v, "\ufffd")) + `"`
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// ExpiryHelp is the help of the metric of a certificate, whose values GiveExpiry gives.
const ExpiryHelp = "When the certificate of this side of TLS expires, in seconds since the epoch."

// GiveExpiry gives when a certificate expires, with its file: none for the name "".
func GiveExpiry(of func() (name string, at time.Time), give func(v float64, labels ...string)) {
	if name, at := of(); name != "" {
		give(UnixSeconds(at), name)
	}
}

// UnixSeconds returns a time in seconds since the epoch, 0 for the zero time.
func UnixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}
