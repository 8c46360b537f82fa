package bpf

// Operation codes of classic BPF (linux/bpf_common.h): a class, and what it is done
// with.
const (
	classMask = 0x07

	opLoad     = 0x00 // classes
	opLoadX    = 0x01
	opStore    = 0x02
	opStoreX   = 0x03
	opALU      = 0x04
	opJump     = 0x05
	opReturn   = 0x06
	opTransfer = 0x07

	word     = 0x00 // sizes of loads
	halfword = 0x08
	octet    = 0x10

	constant   = 0x00 // modes of loads
	absolute   = 0x20
	indirect   = 0x40
	scratch    = 0x60
	wireLength = 0x80
	nibble     = 0xA0 // four times the low half of an octet: an IPv4 header's length

	byX = 0x08 // source of the second operand; else it is in the instruction

	aluAdd = 0x00
	aluSub = 0x10
	aluMul = 0x20
	aluDiv = 0x30
	aluOr  = 0x40
	aluAnd = 0x50
	aluShl = 0x60
	aluShr = 0x70
	aluNeg = 0x80
	aluMod = 0x90
	aluXor = 0xA0

	jumpAlways  = 0x00
	jumpEqual   = 0x10
	jumpGreater = 0x20
	jumpAtLeast = 0x30
	jumpAnyBit  = 0x40

	returnA = 0x10

	toX   = 0x00
	fromX = 0x80
)

// MaxLen is the most instructions of a program.
const MaxLen = 1<<16 - 1

// scratchWords is how many words of memory a program has (BPF_MEMWORDS).
const scratchWords = 16

// beside is where loads reach what the kernel knows of a packet beside its bytes
// (SKF_AD_OFF), and besideEnd is behind the last of them.
const (
	beside    = 0xFFFFF000
	besideEnd = beside + 64
)
