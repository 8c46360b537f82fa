// SPDX-License-Identifier: Apache-2.0

// Package check tests what contrib gives to Grafana and Prometheus: every expression by
// Prometheus's own parser, and its metrics and labels against what /metrics offers. It is
// a module of its own, so that nobody else needs that parser.
package check
