// Package chart draws line charts as SVG, for pages and reports that need no
// other file to be looked at.
//
// It lies outside of the command's internal packages because the reports below
// bench draw theirs with it too.
package chart
