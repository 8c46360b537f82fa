// SPDX-License-Identifier: Apache-2.0

// Package compare is "flowdedup compare": flags, the run of capture/compare over two inputs
// with outputs for packets that only one side has, and the texts.
package compare
