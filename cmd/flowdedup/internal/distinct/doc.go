// SPDX-License-Identifier: Apache-2.0

// Package distinct implements "flowdedup distinct". Package count counts; this one reads
// captures, unites saved counts, and presents rows.
package distinct
