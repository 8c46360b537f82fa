// SPDX-License-Identifier: Apache-2.0

// Package verify implements "flowdedup verify": its flags (flags.go), the run of package
// analysis/verify over captures (run.go), and the result as JSON, text and a page (summary.go).
package verify
