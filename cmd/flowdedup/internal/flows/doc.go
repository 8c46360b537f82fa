// SPDX-License-Identifier: Apache-2.0

// Package flows implements "flowdedup flows": it opens inputs of flow records, has each
// record judged, writes and relays those that stay, counts, and shows the run.
package flows
