// SPDX-License-Identifier: Apache-2.0

// Command browser makes the program for browsers, in one folder of static files: a page, on
// which a person drops captures, and the whole program as WebAssembly, which a worker runs.
// The file flowdedup.html in it is the same page in one file, which needs no server.
//
// The page requests nothing but its own files, and its policy forbids anything else
// (Content Security Policy Level 3, https://www.w3.org/TR/CSP3/). Captures are read piece by
// piece, and results go to a file or into Blobs, so both may be larger than the memory.
package main
