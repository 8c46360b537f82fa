// Package outfile owns files that appear under their names whole or not at all,
// and never take another file with them.
//
// # The contract
//
//   - A file that exists is replaced only by [File.Commit], after a clean end.
//     After any other end it stays as it was, and [File.Keep] leaves what was
//     written beside it under a visible name: clean.pcapng becomes
//     clean.partial.pcapng, with a number where that is taken.
//   - A new name gets what was written at any end, unless writing itself
//     failed: then the name is a partial one too.
//   - Nothing that was written is removed again but by [File.Discard], which is
//     for outputs without content. A failed write takes away only what it wrote
//     itself, so that a plain file ends with a whole call of Write.
//   - Where the system refuses to rename (a bind mount, a sticky folder, a folder
//     that may not be written), Commit copies into the existing file. If that
//     fails as well, the partial file stays and the error names it.
//   - An output that names an input is refused by Commit if the input has changed
//     since it was opened.
//   - A replaced file leaves its mode to the new one, and its owner where that is
//     permitted. Hard links keep the old content.
//   - Two runs never write to one name: the second gets [ErrLocked], with the
//     process that holds the lock.
//   - All names are relative to the folder as it was opened, so a folder may move
//     during a run. Commit then returns [ErrMoved].
//
// A file is written without a name where the file system can do that
// (O_TMPFILE), else under a hidden one, .NAME.1a2b3c4d.flowdedup-tmp, beside the
// target. A killed process leaves such a file, or the lock of a name,
// .NAME.flowdedup-lock. Both are locked while they are in use, so the next run in
// that folder recognises what is left over, and removes it.
//
// [Grow] is for captures without end: its file has its name from the start, and
// is a new one always.
//
// Standard output, devices and pipes are written to directly.
package outfile
