package rivals

import "math"

// What an independent simulation of the same methods found, in percent, on the
// streams of the same definition. NaN where it gives none.

// independentUnbounded is for 16 kbit, 256 kbit, 4 Mbit and 64 Mbit, 10^7 records of
// the web-like stream.
var independentUnbounded = map[string][]rate{
	"SBF d1 K2 P4, anywhere": {{7.78, 54.0}, {6.29, 37.3}, {4.20, 17.2}, {0.43, 2.9}},
	"LRU rows 8x8":           {{3.13, 51.9}, {3.12, 32.1}, {2.95, 9.4}, {0.89, 0.01}},
	"LRU rows 4x8":           {{1.57, 53.2}, {1.57, 33.2}, {1.46, 10.2}, {0.44, 0.08}},
	"LRU rows 42x12":         {{1.03, 55.4}, {1.03, 35.9}, {0.99, 12.4}, {0.44, 0}},
	"LRU rows 32x16":         {{0.049, 57.7}, {0.050, 38.9}, {0.047, 14.9}, {0.027, 0.09}},
	"LRU rows 8x16":          {{0.012, 58.0}, {0.012, 39.2}, {0.012, 15.4}, {0.006, 0.26}},
	"LRU rows 16x32":         {{0, 62.3}, {0, 44.6}, {0, 21.0}, {0, 1.3}},
	"LRU rows 8x64":          {{0, 67.6}, {0, 49.4}, {0, 27.3}, {0, 4.9}},
	"LRU buffer of 64 bits":  {{0, 67.1}, {0, 49.0}, {0, 26.7}, {0, 4.3}},
}

// independentSliding is for 16, 24, 32 and 48 bits for each element in the window.
var independentSliding = map[string][]rate{
	"timers 8-bit K2, line":          {{41, 0}, {25, 0}, {16.7, 0}, {9.0, 0}},
	"timers 8-bit K3, line, 2 equal": {{nan, nan}, {4.6, 5.1}, {3.3, 3.6}, {1.9, 1.9}},
	"timers 3-bit K4, line":          {{11.2, 0}, {3.9, 0}, {1.7, 0}},
	"age-partitioned, line":          {{6.0, 0}, {1.35, 0}, {0.34, 0}, {0.045, 0}},
	"age-partitioned, anywhere":      {{5.4, 0}, {0.92, 0}, {0.18, 0}, {0.004, 0}},
	"jumping J4 K7, anywhere":        {{1.84, 0}, {0.21, 0}, {0.039, 0}, {0.003, 0}},
	"jumping J4 K5, line":            {{4.5, 0}, {1.2, 0}, {0.48, 0}, {0.13, 0}},
	"timed rows 32x(12+4)":           {{0.77, 0.90}, {0.54, 0.018}, {0.43, 0.001}, {0.28, 0}},
	"timed rows 32x(13+3)":           {{0.40, 0.99}, {0.30, 0.026}, {0.23, 0.001}, {0.15, 0}},
	"timed rows 8x(12+4)":            {{0.18, 1.9}, {0.14, 0.43}, {0.10, 0.10}, {0.075, 0.009}},
	"timed rows 21x(16+8)":           {{0.037, 4.7}, {0.035, 1.24}, {0.029, 0.19}, {0.018, 0.003}},
	"timed rows 16x(24+8)":           {{0, 7.5}, {0, 3.5}, {0, 1.3}, {0, 0.12}},
	"LRU rows 32x16":                 {{0.047, 0.93}, {0.052, 0.016}, {0.049, 0}},
	"SBF d1 K3 P10, line":            {{0.37, 15.7}, {0.34, 12.4}, {0.32, 10.1}, {0.29, 7.5}},
	"SBF d3 K4 P72, line":            {{0.33, 14.2}, {0.28, 10.4}, {0.27, 7.7}, {0.28, 4.4}},
	"A2, line":                       {{3.4, 0}, {0.70, 0}, {0.16, 0}, {0.019, 0}},
}

var nan = math.NaN()
