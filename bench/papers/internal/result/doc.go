// Package result holds what an experiment found beside what its paper prints, and
// writes it as Markdown, JSON and charts.
package result
