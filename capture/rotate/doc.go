// SPDX-License-Identifier: Apache-2.0

// Package rotate writes a stream of packets to a series of capture files. Each can be read
// without the others. A new file begins by size or by intervals of packet time, and the
// oldest files may be removed.
//
// [File] is the capture.Writer. [New] returns errors that wrap [ErrCannotRotate] for outputs
// that are not regular files; other errors come from package outfile.
package rotate
