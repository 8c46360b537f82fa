// SPDX-License-Identifier: Apache-2.0

// Package bench judges the project from outside. It makes captures with known answers
// (router), synthetic captures of any size (workload) and the tables and figures of the
// papers (papers). It compares the speed with other libraries (peers, a separate module)
// and with other tools, on captures (pipeline) and on live traffic (live). It compares
// the packets that programs lose and the copies that they leave (contest). RESULTS.md
// holds runs of the last four. The lab has interfaces and traffic for tests of live
// capture. The tests of this package compare the filters in lines with the papers'
// filters over one array, and check which packages import which and that every exported
// name has a user.
//
// Users import nothing below it, and nothing of the project imports it.
package bench
