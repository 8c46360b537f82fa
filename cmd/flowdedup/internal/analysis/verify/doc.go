// SPDX-License-Identifier: Apache-2.0

// Package verify checks a de-duplicated capture against its input: each packet of the input is in
// the output, unchanged and in order, or the output has a copy of it within the window.
//
// With the code that it checks it shares only the reading of files, the reassembly of fragments
// (package reassemble), the definition of an identity (packages headers and identity) and the
// boundaries of landmark windows (package calendar). Packets are compared byte by byte. Identities are
// looked up in a plain hash table by 128 bits of hash/maphash. There is no filter, no kernel, and no
// second thread.
package verify
