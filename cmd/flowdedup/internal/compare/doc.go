// SPDX-License-Identifier: Apache-2.0

// Package compare is "flowdedup compare": flags, the run of capture/compare over two inputs
// with outputs for the packets of one side alone, and what it prints.
package compare
