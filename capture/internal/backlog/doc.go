// SPDX-License-Identifier: Apache-2.0

// Package backlog keeps batches whose packets cannot be passed on yet. The source of a batch
// wants its memory back: a small batch is copied, and a large batch is exchanged for a spare batch,
// so that the source can go on.
package backlog
