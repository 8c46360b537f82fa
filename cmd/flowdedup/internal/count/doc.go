// SPDX-License-Identifier: Apache-2.0

// Package count makes the keys of packets, counts distinct ones with
// [windows.Counter], and makes rows of the counts.
package count
