// SPDX-License-Identifier: Apache-2.0

// Package live is "flowdedup live": flags, the run, and its output. It de-duplicates and
// counts the packets of interfaces as they come.
//
// A run is one stream of all interfaces, so copies meet in one filter whichever ring they came
// from. The task of each batch decodes every packet once, and digests its identity and its
// keys. Then batches go through the filter, the counters and the outputs one after another
// (see pipeline.Task). Between two batches the ticker does the work that depends on the clock:
// it closes windows, and reports rows of the past span, the state and the status.
package live
