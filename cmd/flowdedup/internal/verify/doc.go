// SPDX-License-Identifier: Apache-2.0

// Package verify is "flowdedup verify": flags, the run of capture/verify over captures, and
// its output.
package verify
