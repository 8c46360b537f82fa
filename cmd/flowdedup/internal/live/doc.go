// SPDX-License-Identifier: Apache-2.0

// Package live implements "flowdedup live": its flags, the run, and its results. It
// de-duplicates and counts the packets of interfaces as they come.
//
// A run is one stream of all interfaces, so copies meet in one filter whichever ring they came
// from. The task of each batch decodes every packet once, and digests its identity and its
// keys. Then batches go through the filter, the counters and the outputs one after another
// (see pipeline.Task). Between two batches the ticker does the work that depends on the clock:
// it closes windows, and reports rows of the past span, the state and the status.
//
//	question                               file
//	flags; rules of --forward, -w, -C, -G  flags.go, flags_outputs.go
//	memory of the filter; of the counters  dedup/config.go; flags.go
//	opening of interfaces; of networks     capture.go; network.go
//	packets that stay in the ring          run.go
//	the work on a batch                    task.go
//	outputs, --forward among them          package sink
//	everything between batches             ticker.go
//	--learn                                learn.go
//	--state                                state.go, state_file.go, state_resume.go
//	counts of windows                      reports.go; hub_counts.go sends them to a hub
//	the result as JSON; as text            summary.go, package monitor; text.go
//	the dashboard, logs, page, metrics     display.go, then package monitor
//	privileges                             system_linux.go
package live
