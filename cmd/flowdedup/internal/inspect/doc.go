// SPDX-License-Identifier: Apache-2.0

// Package inspect implements "flowdedup inspect": its flags (flags.go), the run of package
// analysis/inspect over captures or interfaces (run.go), and the result as JSON with the command
// that it recommends (summary.go), as text (text.go) and as a page (page.go).
package inspect
