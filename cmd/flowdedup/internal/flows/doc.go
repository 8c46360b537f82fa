// SPDX-License-Identifier: Apache-2.0

// Package flows implements "flowdedup flows": it opens inputs of flow records, judges each
// record, writes and relays the kept ones, counts, and shows the run. Package
// capture/records/match decides which records are copies.
//
//	question                                file
//	the command; flags and their rules      command.go; flags.go
//	inputs: datagrams and captures; text    open.go, merge.go; open_text.go
//	reading to the end; the way of a batch  each.go; run.go
//	output of records; a field of them      output.go; format.go
//	counts of windows                       distinct.go
//	--state                                 state.go
//	the result as JSON; as text; as a page  summary.go; text.go; page.go
//	--inspect                               inspect.go
//	the page of a live run, metrics         server.go, metrics.go
package flows
