// SPDX-License-Identifier: Apache-2.0

// Package rowtable has what counters in exact rows and in sliding rows share: tables that
// grow or are thinned without a pause (Rows), sets for the few words that find their line
// full (Overflow), and estimates from samples (SampleSum).
package rowtable
