// SPDX-License-Identifier: Apache-2.0

// Package web is the HTTP server of the command and of the hub: its addresses, the hosts it
// answers to, the limits of a client, and the form of /healthz and /metrics. A program gives
// it the content.
package web
