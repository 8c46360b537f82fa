// SPDX-License-Identifier: Apache-2.0

// Package monitor shows a live run while it goes on: a dashboard for terminals (dashboard.go,
// terminal.go), lines for logs (log.go), and over HTTP (server.go) a page (page.go), metrics
// for Prometheus (metrics_run.go) and a health check. All are made from the [Status] that the
// run sends once a second, which holds its [Summary] so far.
package monitor
