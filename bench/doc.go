// Package bench holds what judges the project from outside: captures made in
// a lab with known answers (router), synthetic workloads of any size
// (workload), the tables and figures of the papers made anew (papers), speed
// beside other libraries (peers, a module of its own) and beside other tools, on
// captures (pipeline) and on live traffic (live). RESULTS.md holds runs of the last
// three. The lab has the interfaces and the traffic for tests of live capture. The tests
// of this package hold lines against the filters over one array that they come from.
//
// Nothing that users import lives below it, and nothing of the project imports
// it.
package bench
