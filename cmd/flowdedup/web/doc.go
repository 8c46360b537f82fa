// SPDX-License-Identifier: Apache-2.0

// Package web is the HTTP server of the command and of the hub: what it listens on, whom it
// answers, what a client may take, and the form of /healthz and /metrics. A program gives it
// the content.
package web
