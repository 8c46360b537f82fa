package ring

import "errors"

// Reasons why a capture cannot begin or ends; test with errors.Is.
var (
	ErrNoInterface  = errors.New("no such interface")
	ErrDown         = errors.New("the interface is down")
	ErrRemoved      = errors.New("the interface was removed")
	ErrLinkChanged  = errors.New("the interface came back with another link type")
	ErrNotPermitted = errors.New("not permitted: needs CAP_NET_RAW (run as root, or setcap cap_net_raw+ep on the program)")
	ErrLinkType     = errors.New("the interface cannot carry frames of this link type")
)

// Reasons why a [Sender] passes frames over; test with errors.Is.
var (
	ErrFrameTruncated = errors.New("frames captured in part are not sent")
	ErrFrameTooLong   = errors.New("frames longer than the interface can carry are not sent")
	ErrFrameRefused   = errors.New("frames that the interface's queue keeps refusing are not sent")
)
