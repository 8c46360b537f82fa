// SPDX-License-Identifier: Apache-2.0

// Package inspect implements "flowdedup inspect": its flags (flags.go), the run of
// cmd/flowdedup/internal/analysis/inspect over captures (run.go) or interfaces (live.go), the command that it
// recommends (recommend.go), and the result as JSON (summary.go), text (text.go) and a page
// (page.go).
package inspect
