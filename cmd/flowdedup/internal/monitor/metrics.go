// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// metric is a metric of a run on packets. Its name lacks "flowdedup_".
type metric web.Metric[*Status]

const (
	counter = web.Counter
	gauge   = web.Gauge
)

// runMetrics returns all metrics of a run, sorted by name.
func runMetrics() []web.Metric[*Status] {
	var all []web.Metric[*Status]
	for _, m := range slices.Concat(trafficMetrics, kernelMetrics, networkMetrics, filterMetrics, learnedMetrics, distinctMetrics, outputMetrics) {
		m.Name = "flowdedup_" + m.Name
		all = append(all, web.Metric[*Status](m))
	}
	slices.SortStableFunc(all, func(a, b web.Metric[*Status]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// singleValue makes the values function of a metric without labels.
func singleValue(of func(s *Status) float64) web.Values[*Status] {
	return func(s *Status, give func(float64, ...string)) { give(of(s)) }
}
