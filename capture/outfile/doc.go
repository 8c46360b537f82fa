// SPDX-License-Identifier: Apache-2.0

// Package outfile makes files that appear under their names whole or not at all, and that
// never destroy any other file. It knows nothing of captures.
//
// [Create] opens an output that [File.Commit] puts in place. [CreateNew] chooses a free name
// at the end, [CreateVisible] at the start. [Appender] appends to logs that others rotate,
// and [Lock] keeps other runs from a name. Errors are *fs.PathError, or wrap [ErrClosed],
// [ErrMoved], [ErrChanged], [ErrLocked] or [ErrEmptyName].
//
// # The contract
//
//   - Only [File.Commit], after a clean end, replaces a file, and only the regular file that was
//     there when the output was opened. After any other end that file is unchanged, and
//     [File.Keep] gives the output a visible name next to it: clean.partial.pcapng for
//     clean.pcapng, with a number if that is taken.
//   - A new name gets the output at any end, unless a write failed: then the
//     name is a partial name too.
//   - Only [File.Discard] removes the output. It is for outputs without content. A failed
//     write removes its own bytes, so a plain file ends with a whole call of Write.
//   - If the system refuses to rename (a bind mount, a sticky folder, a read-only
//     folder), Commit copies into the existing file. If that fails too, the
//     partial file stays and the error names it.
//   - If the output replaces its input, Commit fails if the input has changed
//     since it was opened.
//   - The new file gets the mode of the file that it replaces, and its owner if
//     that is permitted. Hard links keep the old content.
//   - Two runs never write to the same name: the second gets [ErrLocked], with the
//     process that holds the lock.
//   - All names are relative to the folder as it was opened, so a folder may move
//     during a run. Commit then returns [ErrMoved].
//
// While it is written, a file has no name if the file system supports that (O_TMPFILE), else a
// hidden name next to the target, .NAME.1a2b3c4d.flowdedup-tmp. A killed process leaves that
// file, or the lock of a name, .NAME.flowdedup-lock. Both are locked while they are in use, so
// the next run in that folder recognizes stale files and removes them. Files of such names that are
// not regular, or belong to a user whom the folder does not trust, are passed over.
//
// A [Series] is the files of a rotated output: it knows which of them this program has made, and
// removes no others.
//
// Standard output, devices and pipes are written to directly.
//
//	question                              file
//	a file and its end; how it is opened  file.go; create.go
//	an existing file                      destination.go
//	a new name; a folder that takes none  newname.go
//	files of a rotation, and what is ours series.go; overlap.go
//	what is opened, and never waited for  regular.go
//	the file while it has no name         temp.go, folder_*.go
//	names; compression by name            names.go; compress.go
//	logs; locks                           append.go; lock.go
//	calls of the system                   os_*.go, folder_other.go
package outfile
