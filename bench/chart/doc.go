// Package chart draws line charts as SVG, for reports that need no other file to be
// looked at. It stands on gonum/plot, whose fonts and formats weigh 7 MB in a binary;
// the command draws its own charts.
package chart
