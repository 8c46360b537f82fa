// Package bench holds what judges the project from outside: captures made in
// a lab with known answers (router), synthetic workloads of any size
// (workload), and, built on both, measurements of accuracy and speed.
//
// Nothing that users import lives below it, and nothing of the project imports
// it.
package bench
