// SPDX-License-Identifier: Apache-2.0

// Package distinct implements "flowdedup distinct". It reads captures, unites saved counts,
// and presents rows. Package count makes keys and counts them, engine/distinct/windows has the
// counters.
//
//	question                                file
//	flags of distinct; --every, --of, --tz  flags.go; cli/keys.go
//	the way of a batch                      run.go
//	windows in a time zone                  package engine/calendar
//	--save; --merge and --overlap           save.go; merge.go
//	where rows go                           outputs.go
//	rows as JSON lines and CSV; as a table  lines.go; text.go, text_table.go
//	rows as a page; rankings as tables      page.go; text_table.go
package distinct
