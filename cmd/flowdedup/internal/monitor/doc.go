// SPDX-License-Identifier: Apache-2.0

// Package monitor shows a live run while it goes on: a dashboard for terminals, lines for
// logs, and over HTTP a page, metrics for Prometheus and a health check. All are made
// from the statuses that the run sends once a second.
package monitor
