// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// metric is one of a run on packets. Its name lacks "flowdedup_".
type metric web.Metric[*live.Status]

const (
	counter = web.Counter
	gauge   = web.Gauge
)

// runMetrics returns all metrics of a run, sorted by name.
func runMetrics() []web.Metric[*live.Status] {
	var all []web.Metric[*live.Status]
	for _, m := range slices.Concat(trafficMetrics, kernelMetrics, networkMetrics, filterMetrics, learnedMetrics, distinctMetrics, outputMetrics) {
		m.Name = "flowdedup_" + m.Name
		all = append(all, web.Metric[*live.Status](m))
	}
	slices.SortFunc(all, func(a, b web.Metric[*live.Status]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// singleValue makes the values function of a metric without labels.
func singleValue(of func(s *live.Status) float64) func(*live.Status, func(float64, ...string)) {
	return func(s *live.Status, give func(float64, ...string)) { give(of(s)) }
}

// failureGauge returns 1 if there is a failure.
func failureGauge(failed string) float64 {
	if failed != "" {
		return 1
	}
	return 0
}
