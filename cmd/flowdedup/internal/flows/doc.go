// SPDX-License-Identifier: Apache-2.0

// Package flows wires capture/records together for flow records: it opens inputs, has
// each record judged, writes and relays those that stay, and counts.
package flows
