package capture

import (
	"errors"
	"io/fs"
	"os"
)

// createNew opens an output whose name is chosen in Commit: the first that names
// gives and no file has. Until then the file has a temporary name made of name, whose
// ending selects the compression.
func createNew(name string, names func() string, opt OutputOptions) (*Output, error) {
	o := &Output{name: name, final: name, names: names, noSync: opt.NoSync, private: opt.Private}
	if err := o.openTemp(0o666, false); err != nil {
		return nil, o.named("create", err)
	}
	return o, o.addStages(opt)
}

// place gives the written file its name.
func (o *Output) place() error {
	if o.names == nil {
		return os.Rename(o.temp, o.final)
	}
	for {
		o.final = o.names()
		o.name = o.final
		if err := renameNew(o.temp, o.final); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}
