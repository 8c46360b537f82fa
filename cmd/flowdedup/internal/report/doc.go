// Package report writes what runs found: text and tables to read, JSON and CSV
// for scripts.
package report
