// SPDX-License-Identifier: Apache-2.0

// Package router holds the scripts that make the captures of testdata/pcaps in network
// namespaces, and tests that check the captures against their truth files.
package router
