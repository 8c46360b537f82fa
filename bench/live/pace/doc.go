// SPDX-License-Identifier: Apache-2.0

// Package pace sends the lab's traffic at a given rate, below the rate of the lab's
// generator. It needs Linux.
package pace
