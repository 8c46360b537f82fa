// SPDX-License-Identifier: Apache-2.0

// Package flows implements "flowdedup flows". A run opens its inputs, judges their records and
// shows the result: run.go leads data from room to room, and no room calls back. Package
// capture/records/match decides which records are copies.
//
//	room   question                                 file
//	       the command; flags and their rules       command.go; flags.go
//	       reading to the end; --state              run.go; state.go
//	open   files; sockets; several inputs           open.go; listen.go; merge.go
//	judge  the way of a batch; --inspect            judge.go; inspect.go
//	       counts of windows; keys of a record      distinct.go; elements.go
//	       records that are written; their fields   output.go; format.go
//	show   the result as JSON; as text; as a page   summary.go; text.go; page.go
//	       the page of a live run, metrics          server.go
package flows
