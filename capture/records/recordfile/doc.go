// Package recordfile opens files of flow records of any kind that packages export and text
// read: captures with the messages of exporters, IPFIX files, and text. [Open] makes one
// records.Reader of several inputs, in the order of their times.
package recordfile
