// Command dist makes what a release consists of, from a clean clone: programs for each
// platform, deb and rpm packages, container images, a list of components (CycloneDX), the
// licences of third parties, and checksums. Two runs of one commit give the same bytes: times
// are that of the commit, and nothing depends on where the clone lies.
//
//	go run . -root ../../../.. -out ../../../../dist
package main
