// SPDX-License-Identifier: Apache-2.0

// Package report writes the results of distinct and flows: text and tables for
// people, JSON and CSV for scripts.
package report
