// SPDX-License-Identifier: Apache-2.0

// Package verify implements "flowdedup verify": its flags (flags.go), the run of
// cmd/flowdedup/internal/analysis/verify over captures (run.go), and the result as JSON (summary.go), text (text.go)
// and a page (page.go).
package verify
