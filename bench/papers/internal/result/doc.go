// Package result holds the numbers of an experiment beside those that its paper prints.
// It writes them as Markdown, JSON and charts.
package result
