// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math"
	"sync"
)

// maxName is the length of the longest name of a service or a protocol.
const maxName = 32

// lower returns a name in lower case, as much of it as names may have.
func lower(v []byte) (name [maxName]byte, n int) {
	if len(v) > maxName {
		return name, 0
	}
	for i, c := range v {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		name[i] = c
	}
	return name, len(v)
}

// protocolOf reads a number or a name.
func protocolOf(v []byte) (uint8, bool) {
	switch string(v) { // what most records have
	case "TCP", "tcp":
		return 6, true
	case "UDP", "udp":
		return 17, true
	}
	if n, ok := number(v, math.MaxUint8); ok {
		return uint8(n), true
	}
	name, n := lower(v)
	p, ok := protocols()[string(name[:n])]
	return p, ok
}

// service returns the port of a service.
func service(v []byte) (uint16, bool) {
	name, n := lower(v)
	p, ok := services()[string(name[:n])]
	return p, ok
}

// protocols are names of IP protocols, in lower case (IANA, Protocol Numbers, and the names
// that systems print for them). nfdump writes IPIP, which IANA calls IPv4.
var protocols = sync.OnceValue(func() map[string]uint8 {
	return map[string]uint8{
		"hopopt": 0, "ip": 0, "icmp": 1, "igmp": 2, "ggp": 3, "ip-encap": 4, "ipencap": 4, "ipip": 4, "ipv4": 4, "st": 5, "tcp": 6, "cbt": 7, "egp": 8,
		"igp": 9, "bbn-rcc-mon": 10, "nvp-ii": 11, "pup": 12, "argus": 13, "emcon": 14, "xnet": 15, "chaos": 16, "udp": 17, "mux": 18, "dcn-meas": 19,
		"hmp": 20, "prm": 21, "xns-idp": 22, "trunk-1": 23, "trunk-2": 24, "leaf-1": 25, "leaf-2": 26, "rdp": 27, "irtp": 28, "iso-tp4": 29, "netblt": 30,
		"mfe-nsp": 31, "merit-inp": 32, "dccp": 33, "3pc": 34, "idpr": 35, "xtp": 36, "ddp": 37, "idpr-cmtp": 38, "tp++": 39, "il": 40, "ipv6": 41,
		"sdrp": 42, "ipv6-route": 43, "ipv6-frag": 44, "idrp": 45, "rsvp": 46, "gre": 47, "dsr": 48, "bna": 49, "esp": 50, "ipv6-crypt": 50, "ah": 51,
		"ipv6-auth": 51, "i-nlsp": 52, "swipe": 53, "narp": 54, "min-ipv4": 55, "tlsp": 56, "skip": 57, "icmp6": 58, "icmpv6": 58, "ipv6-icmp": 58,
		"ipv6-nonxt": 59, "ipv6-opts": 60, "any-host-internal-protocol": 61, "cftp": 62, "any-local-network": 63, "sat-expak": 64, "kryptolan": 65,
		"rvd": 66, "ippc": 67, "any-distributed-file-system": 68, "sat-mon": 69, "visa": 70, "ipcv": 71, "cpnx": 72, "cphb": 73, "rspf": 73, "wsn": 74,
		"pvp": 75, "br-sat-mon": 76, "sun-nd": 77, "wb-mon": 78, "wb-expak": 79, "iso-ip": 80, "vmtp": 81, "secure-vmtp": 82, "vines": 83, "iptm": 84,
		"nsfnet-igp": 85, "dgp": 86, "tcf": 87, "eigrp": 88, "ospf": 89, "ospfigp": 89, "sprite-rpc": 90, "larp": 91, "mtp": 92, "ax.25": 93, "micp": 95,
		"scc-sp": 96, "etherip": 97, "encap": 98, "any-private-encryption-scheme": 99, "gmtp": 100, "ifmp": 101, "pnni": 102, "pim": 103, "aris": 104,
		"scps": 105, "qnx": 106, "a/n": 107, "ipcomp": 108, "snp": 109, "compaq-peer": 110, "ipx-in-ip": 111, "vrrp": 112, "pgm": 113,
		"any-0-hop-protocol": 114, "l2tp": 115, "ddx": 116, "iatp": 117, "stp": 118, "srp": 119, "uti": 120, "smp": 121, "sm": 122, "ptp": 123, "isis": 124,
		"isis over ipv4": 124, "fire": 125, "crtp": 126, "crudp": 127, "sscopmce": 128, "iplt": 129, "sps": 130, "pipe": 131, "sctp": 132, "fc": 133,
		"rsvp-e2e-ignore": 134, "mobility header": 135, "mobility-header": 135, "udplite": 136, "mpls-in-ip": 137, "manet": 138, "hip": 139, "shim6": 140,
		"wesp": 141, "rohc": 142, "ethernet": 143, "aggfrag": 144, "nsh": 145,

		// Only nfdump has these.
		"bbn": 10, "nvpii": 11, "encom": 14, "dcn": 19, "xns": 22, "trnk1": 23, "trnk2": 24, "leaf1": 25, "leaf2": 26, "iso-4": 29, "netbk": 30, "mfesp": 31,
		"meinp": 32, "rte6": 43, "frag6": 44, "mhrp": 48, "inlsp": 52, "mobil": 55, "nohe6": 59, "opts6": 60, "host": 61, "net": 63, "satnt": 64, "klan": 65,
		"fs": 68, "satm": 69, "bsatm": 76, "sunnd": 77, "wbmon": 78, "wbexp": 79, "isoip": 80, "svmtp": 82, "ttp": 84, "nsigp": 85, "s-rpc": 90, "os": 94,
		"sccsp": 96, "ethip": 97, "ipcmp": 108, "cpqpp": 110, "ipxip": 111, "0hop": 114, "isis4": 124, "mhead": 135, "udp-l": 136, "mpls": 137,

		// Only Argus has these.
		"ipnip": 4, "st2": 5, "bbn-rcc": 10, "nvp": 11, "sep": 33, "mobile": 55, "ipv6-no": 59, "aes-sp3-d": 96, "pri-enc": 99, "ipx-n-ip": 111, "zero": 114,
		"sccopmce": 128,
	}
})

// services are names of well-known ports, in lower case (IANA, Service Name and Transport
// Protocol Port Number Registry, and the names that systems print for them).
var services = sync.OnceValue(func() map[string]uint16 {
	return map[string]uint16{
		"tcpmux": 1, "echo": 7, "discard": 9, "systat": 11, "daytime": 13, "netstat": 15, "qotd": 17, "chargen": 19, "ftp-data": 20, "fsp": 21, "ftp": 21,
		"ssh": 22, "telnet": 23, "smtp": 25, "time": 37, "nicname": 43, "whois": 43, "tacacs": 49, "dns": 53, "domain": 53, "bootps": 67, "bootpc": 68,
		"tftp": 69, "gopher": 70, "finger": 79, "http": 80, "www": 80, "www-http": 80, "kerberos": 88, "iso-tsap": 102, "acr-nema": 104, "poppassd": 106,
		"pop3": 110, "portmapper": 111, "rpcbind": 111, "sunrpc": 111, "auth": 113, "ident": 113, "nntp": 119, "ntp": 123, "epmap": 135, "loc-srv": 135,
		"netbios-ns": 137, "netbios-dgm": 138, "netbios-ssn": 139, "imap": 143, "imap2": 143, "snmp": 161, "snmp-trap": 162, "snmptrap": 162,
		"cmip-man": 163, "cmip-agent": 164, "mailq": 174, "xdmcp": 177, "bgp": 179, "smux": 199, "qmtp": 209, "z3950": 210, "ipx": 213, "ptp-event": 319,
		"ptp-general": 320, "rpki-rtr": 323, "rpki-rtr-tls": 324, "pawserv": 345, "zserv": 346, "rpc2portmap": 369, "codaauth2": 370, "clearcase": 371,
		"ldap": 389, "svrloc": 427, "https": 443, "snpp": 444, "microsoft-ds": 445, "kpasswd": 464, "smtps": 465, "ssmtp": 465, "submissions": 465,
		"urd": 465, "saft": 487, "ike": 500, "isakmp": 500, "biff": 512, "exec": 512, "login": 513, "who": 513, "shell": 514, "syslog": 514, "printer": 515,
		"talk": 517, "ntalk": 518, "rip": 520, "route": 520, "gdomap": 538, "uucp": 540, "klogin": 543, "kshell": 544, "dhcpv6-client": 546,
		"dhcpv6-server": 547, "afpovertcp": 548, "rtsp": 554, "nntps": 563, "submission": 587, "nqs": 607, "asf-rmcp": 623, "qmqp": 628, "ipp": 631,
		"ldaps": 636, "ldp": 646, "tinc": 655, "silc": 706, "kerberos-adm": 749, "kerberos4": 750, "kerberos-master": 751, "passwd-server": 752,
		"krb-prop": 754, "moira-db": 775, "moira-update": 777, "moira-ureg": 779, "spamd": 783, "netconf-ssh": 830, "domain-s": 853, "supfilesrv": 871,
		"rsync": 873, "ftps-data": 989, "ftps": 990, "telnets": 992, "imaps": 993, "pop3s": 995, "socks": 1080, "proofd": 1093, "rootd": 1094,
		"rmiregistry": 1099, "supfiledbg": 1127, "skkserv": 1178, "openvpn": 1194, "predict": 1210, "rmtcfg": 1236, "xtel": 1313, "xtelw": 1314,
		"lotusnote": 1352, "ms-sql-s": 1433, "ms-sql-m": 1434, "ingreslock": 1524, "datametrics": 1645, "sa-msg-port": 1646, "kermit": 1649,
		"groupwise": 1677, "l2f": 1701, "l2tp": 1701, "h323gatestat": 1719, "h323hostcall": 1720, "pptp": 1723, "radius": 1812, "radius-acct": 1813,
		"mqtt": 1883, "ssdp": 1900, "cisco-sccp": 2000, "nfs": 2049, "gnunet": 2086, "rtcm-sc104": 2101, "zephyr-srv": 2102, "zephyr-clt": 2103,
		"zephyr-hm": 2104, "gsigatekeeper": 2119, "iprop": 2121, "gris": 2135, "cvspserver": 2401, "venus": 2430, "venus-se": 2431, "codasrv": 2432,
		"codasrv-se": 2433, "mon": 2583, "zebrasrv": 2600, "zebra": 2601, "ripd": 2602, "ripngd": 2603, "ospfd": 2604, "bgpd": 2605, "ospf6d": 2606,
		"ospfapi": 2607, "isisd": 2608, "dict": 2628, "f5-globalsite": 2792, "gsiftp": 2811, "gpsd": 2947, "gds-db": 3050, "icpv2": 3130, "isns": 3205,
		"iscsi-target": 3260, "mysql": 3306, "ms-wbt-server": 3389, "stun": 3478, "turn": 3478, "nut": 3493, "distcc": 3632, "daap": 3689, "svn": 3690,
		"suucp": 4031, "sysrqd": 4094, "sieve": 4190, "f5-iquery": 4353, "epmd": 4369, "remctl": 4373, "ntske": 4460, "ipsec-nat-t": 4500, "fax": 4557,
		"hylafax": 4559, "iax": 4569, "mtn": 4691, "ipfix": 4739, "ipfixs": 4740, "vxlan": 4789, "radmin-port": 4899, "munin": 4949, "sip": 5060,
		"sip-tls": 5061, "sips": 5061, "xmpp-client": 5222, "xmpp-server": 5269, "cfengine": 5308, "stuns": 5349, "turns": 5349, "mdns": 5353,
		"noclog": 5354, "hostmon": 5355, "llmnr": 5355, "postgresql": 5432, "rplay": 5555, "freeciv": 5556, "nrpe": 5666, "nsca": 5667, "amqps": 5671,
		"amqp": 5672, "canna": 5680, "x11": 6000, "x11-1": 6001, "x11-2": 6002, "x11-3": 6003, "x11-4": 6004, "x11-5": 6005, "x11-6": 6006, "x11-7": 6007,
		"sflow": 6343, "gnutella-svc": 6346, "gnutella-rtr": 6347, "redis": 6379, "sge-qmaster": 6444, "sge-execd": 6445, "mysql-proxy": 6446,
		"syslog-tls": 6514, "sane-port": 6566, "ircd": 6667, "babel": 6696, "ircs-u": 6697, "afs3-fileserver": 7000, "bbs": 7000, "afs3-callback": 7001,
		"afs3-prserver": 7002, "afs3-vlserver": 7003, "afs3-kaserver": 7004, "afs3-volser": 7005, "afs3-bos": 7007, "afs3-update": 7008,
		"afs3-rmtsys": 7009, "font-service": 7100, "zope-ftp": 8021, "http-alt": 8080, "webcache": 8080, "tproxy": 8081, "omniorb": 8088, "puppet": 8140,
		"https-alt": 8443, "secure-mqtt": 8883, "clc-build-daemon": 8990, "xinetd": 9098, "bacula-dir": 9101, "bacula-fd": 9102, "bacula-sd": 9103,
		"git": 9418, "xmms2": 9667, "zope": 9673, "webmin": 10000, "zabbix-agent": 10050, "zabbix-trapper": 10051, "amanda": 10080, "kamanda": 10081,
		"amandaidx": 10082, "amidxtape": 10083, "nbd": 10809, "dicom": 11112, "hkp": 11371, "sgi-cmsd": 17001, "sgi-crsd": 17002, "sgi-gcd": 17003,
		"sgi-cad": 17004, "db-lsp": 17500, "dcap": 22125, "gsidcap": 22128, "wnn6": 22273, "binkp": 24554, "asp": 27374, "csync2": 30865,
		"dircproxy": 57000, "tfido": 60177, "fido": 60179,
	}
})
