// Package report writes the results of runs: text and tables for people, JSON and CSV for
// scripts.
package report
