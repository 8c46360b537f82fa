// Package snapshot writes and reads what filters remember: each filter as one list of its
// numbers, and its lines. A Copy does so while the filters go on.
package snapshot
