// SPDX-License-Identifier: Apache-2.0

// Package plan implements "flowdedup plan". It turns the command line and the measurement
// of a capture into a question for package sizing, and presents the answer.
package plan
