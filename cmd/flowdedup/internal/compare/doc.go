// SPDX-License-Identifier: Apache-2.0

// Package compare implements "flowdedup compare": its flags (flags.go), the run of
// capture/compare over two inputs (run.go, feed.go), with outputs for packets that only one
// side has, and the result as JSON (summary.go), text (text.go) and a page (page.go).
package compare
