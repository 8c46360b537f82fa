// SPDX-License-Identifier: Apache-2.0

// Command dist makes the files of a release, from the last commit of a clone: flowdedup and
// flowdedup-hub for each platform, deb and rpm packages, container images, lists of components
// (CycloneDX), the licences of third parties, recipes for other package managers, and
// checksums. Two runs of one commit give the same bytes: all times are the time of the commit,
// and nothing depends on where the clone lies.
//
//	go run . -root ../../../.. -out ../../../../dist
package main
