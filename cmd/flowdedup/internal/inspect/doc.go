// SPDX-License-Identifier: Apache-2.0

// Package inspect is "flowdedup inspect": flags, the run of capture/inspect over captures or
// interfaces, the command that it recommends, and its output.
package inspect
