// Package monitor shows a live run while it goes on: a view for terminals, lines
// for logs, and over HTTP a page, metrics for Prometheus and a check of health.
// All are made of the statuses that the run gives once a second.
package monitor
