// SPDX-License-Identifier: Apache-2.0

// Package check tests the files of contrib for Grafana and Prometheus: every expression by
// Prometheus's own parser, and its metrics and labels against the output of /metrics. It
// compares the metrics of the process with those of Prometheus's library, and the names of all
// with its rules. It is a module of its own, so that nobody else needs that parser and library.
package check
