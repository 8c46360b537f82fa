//go:build !unix

package hub

import "os"

// Lock opens a file of the folder. Other hubs are kept from it by the port that they share.
func (f *Folder) Lock() (*os.File, error) {
	return os.OpenFile(f.at("lock"), os.O_RDWR|os.O_CREATE, 0o600)
}
