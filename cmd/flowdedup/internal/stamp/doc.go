// Package stamp writes packet times for reports.
package stamp
