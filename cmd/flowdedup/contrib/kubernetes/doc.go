// SPDX-License-Identifier: Apache-2.0

// Command kubernetes renders the chart flowdedup as plain manifests, into the folder manifests.
// Its tests have Helm lint the chart, and read every object by the types of Kubernetes' own
// API. It is a module of its own, so that nobody else needs these libraries.
//
//	go run .
package main
