// Package plan runs "flowdedup plan": it makes a question for package sizing out of
// what a command line says and what a capture shows, and presents the answer.
package plan
