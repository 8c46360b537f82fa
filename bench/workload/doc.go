// Package workload writes synthetic captures of any size with a known answer:
// which share of the packets are copies and of what kind, and how many
// different sources, destinations and flows each hour has; and, as a list beside
// it, which packet is a copy of which.
//
// The traffic is plain on purpose: independent packets of flows whose
// popularity follows Zipf's law, evenly spread over time. It serves to measure
// speed and to count exactly; it says nothing about how real networks behave.
package workload
