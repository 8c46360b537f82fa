// SPDX-License-Identifier: Apache-2.0

// Package chromium tests the page for browsers in Chromium, by the DevTools protocol: its
// results equal those of the native program, and it requests nothing but its own files. It is
// a module of its own, so that nobody else needs the protocol.
package chromium
