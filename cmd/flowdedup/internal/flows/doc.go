// SPDX-License-Identifier: Apache-2.0

// Package flows implements "flowdedup flows": it opens inputs of flow records, judges each
// record, writes and relays the kept ones, counts, and shows the run.
package flows
