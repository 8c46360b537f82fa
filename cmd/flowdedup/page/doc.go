// SPDX-License-Identifier: Apache-2.0

// Package page makes the self-contained HTML pages of --html and of the hub: headings, tables
// and charts, without scripts or anything from a network, for light and dark screens and for
// print.
//
// A [Page] has [Section]s. Each has a picture ([Chart], [Bars] or [HeatMap]), a caption
// that says what to conclude from it, and the numbers as a table.
package page
