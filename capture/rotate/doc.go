// SPDX-License-Identifier: Apache-2.0

// Package rotate writes a stream of packets to a series of capture files. Each can be read
// without the others. A new file begins by size or by intervals of packet time, and the
// oldest files may be removed.
//
// [File] is the capture.Writer. [New] returns errors that wrap [ErrCannotRotate] for outputs
// that are not regular files; other errors come from package outfile.
//
//	r, err := rotate.New("cap.pcapng", rotate.Options{Every: time.Hour, Keep: 24})
//	...
//	err = r.Write(b, nil) // each batch
//	...
//	err = r.Commit()
//
//	question                                  file
//	a capture, its packets and blocks         file.go, write.go
//	lines of text                             lines.go
//	all files, their settings and counts      series.go
//	a file: being written, completed, failed  segment.go
//	files without a name in their folder      homeless.go
//	intervals; names; files that stay         intervals.go; names.go; keep.go
package rotate
