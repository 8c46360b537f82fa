// SPDX-License-Identifier: Apache-2.0

// Package chart draws line charts as SVG, for reports in a single file. It uses
// gonum/plot, whose fonts and formats add 7 MB to a binary; so the command draws its own
// charts.
package chart
