// SPDX-License-Identifier: Apache-2.0

// Command genworkload writes a synthetic capture and its truth:
//
//	genworkload -packets 10000000 -o FILE.pcap -truth FILE.json -copies FILE.csv
package main
