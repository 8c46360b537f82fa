package text

import "math"

// maxName is the length of the longest name of a service or a protocol.
const maxName = 16

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
	if isDigit(v[0]) {
		n, ok := number(v, math.MaxUint8)
		return uint8(n), ok
	}
	name, n := lower(v)
	p, ok := protocols[string(name[:n])]
	return p, ok
}

// service returns the port of a service.
func service(v []byte) (uint16, bool) {
	name, n := lower(v)
	p, ok := services[string(name[:n])]
	return p, ok
}

// protocols are names of IP protocols, in lower case (IANA, Protocol Numbers).
var protocols = map[string]uint8{
	"ip": 0, "hopopt": 0, "icmp": 1, "igmp": 2, "ggp": 3, "ipip": 4, "ipencap": 4, "ip-encap": 4, "ipv4": 4, "st": 5, "tcp": 6, "egp": 8, "igp": 9,
	"pup": 12, "udp": 17, "hmp": 20, "xns-idp": 22, "rdp": 27, "iso-tp4": 29, "dccp": 33, "xtp": 36, "ddp": 37, "idpr-cmtp": 38,
	"ipv6": 41, "ipv6-route": 43, "ipv6-frag": 44, "idrp": 45, "rsvp": 46, "gre": 47, "esp": 50, "ipv6-crypt": 50, "ah": 51, "ipv6-auth": 51,
	"skip": 57, "icmp6": 58, "icmpv6": 58, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "rspf": 73, "vmtp": 81, "eigrp": 88, "ospf": 89, "ospfigp": 89,
	"ax.25": 93, "etherip": 97, "encap": 98, "pim": 103, "ipcomp": 108, "vrrp": 112, "l2tp": 115, "isis": 124, "sctp": 132,
	"fc": 133, "mobility-header": 135, "udplite": 136, "mpls-in-ip": 137, "manet": 138, "hip": 139, "shim6": 140, "wesp": 141, "rohc": 142, "ethernet": 143,
}

// services are names of well-known ports, in lower case (IANA, Service Name and Transport
// Protocol Port Number Registry, and the names that systems print for them). Those that have
// one port over TCP and another over UDP are not among them.
var services = map[string]uint16{
	"tcpmux": 1, "echo": 7, "discard": 9, "systat": 11, "daytime": 13, "netstat": 15, "qotd": 17, "chargen": 19, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23,
	"smtp": 25, "time": 37, "whois": 43, "nicname": 43, "tacacs": 49, "domain": 53, "dns": 53, "bootps": 67, "bootpc": 68, "tftp": 69, "gopher": 70, "finger": 79,
	"http": 80, "www": 80, "www-http": 80, "kerberos": 88, "iso-tsap": 102, "acr-nema": 104, "pop3": 110, "sunrpc": 111, "portmapper": 111, "rpcbind": 111, "auth": 113, "ident": 113, "nntp": 119, "ntp": 123,
	"epmap": 135, "loc-srv": 135, "netbios-ns": 137, "netbios-dgm": 138, "netbios-ssn": 139, "imap": 143, "imap2": 143, "snmp": 161, "snmptrap": 162, "snmp-trap": 162,
	"cmip-man": 163, "cmip-agent": 164, "xdmcp": 177, "bgp": 179, "smux": 199, "qmtp": 209, "z3950": 210, "ipx": 213, "ptp-event": 319, "ptp-general": 320,
	"rpki-rtr": 323, "rpki-rtr-tls": 324, "pawserv": 345, "zserv": 346, "rpc2portmap": 369, "codaauth2": 370, "clearcase": 371, "ldap": 389, "svrloc": 427, "https": 443, "snpp": 444,
	"microsoft-ds": 445, "kpasswd": 464, "submissions": 465, "smtps": 465, "ssmtp": 465, "urd": 465, "saft": 487, "isakmp": 500, "ike": 500,
	"rtsp": 554, "nqs": 607, "asf-rmcp": 623, "qmqp": 628, "ipp": 631, "ldp": 646, "ldaps": 636, "submission": 587, "route": 520, "rip": 520, "dhcpv6-client": 546, "dhcpv6-server": 547, "afpovertcp": 548,
	"nntps": 563, "kerberos-adm": 749, "domain-s": 853, "rsync": 873, "ftps-data": 989, "ftps": 990, "telnets": 992, "imaps": 993, "pop3s": 995,
	"socks": 1080, "proofd": 1093, "rootd": 1094, "openvpn": 1194, "rmiregistry": 1099, "lotusnote": 1352, "ms-sql-s": 1433, "ms-sql-m": 1434, "ingreslock": 1524, "datametrics": 1645, "sa-msg-port": 1646,
	"kermit": 1649, "groupwise": 1677, "l2f": 1701, "l2tp": 1701, "h323gatestat": 1719, "h323hostcall": 1720, "pptp": 1723, "radius": 1812, "radius-acct": 1813, "ssdp": 1900, "cisco-sccp": 2000, "nfs": 2049,
	"gnunet": 2086, "rtcm-sc104": 2101, "zephyr-srv": 2102, "zephyr-clt": 2103, "zephyr-hm": 2104, "gsigatekeeper": 2119, "gris": 2135, "cvspserver": 2401, "venus": 2430, "codasrv": 2432, "mon": 2583, "dict": 2628,
	"f5-globalsite": 2792, "gsiftp": 2811, "gpsd": 2947, "gds-db": 3050, "icpv2": 3130, "isns": 3205, "iscsi-target": 3260, "mysql": 3306, "ms-wbt-server": 3389, "nut": 3493, "stun": 3478, "turn": 3478, "stuns": 5349, "turns": 5349,
	"distcc": 3632, "daap": 3689, "svn": 3690, "suucp": 4031, "sysrqd": 4094, "sieve": 4190, "ipsec-nat-t": 4500, "epmd": 4369, "f5-iquery": 4353, "ntske": 4460, "iax": 4569, "mtn": 4691, "radmin-port": 4899, "vxlan": 4789,
	"sip": 5060, "sip-tls": 5061, "sips": 5061, "xmpp-client": 5222, "xmpp-server": 5269, "cfengine": 5308, "mdns": 5353, "noclog": 5354, "hostmon": 5355, "llmnr": 5355, "postgresql": 5432, "amqps": 5671, "amqp": 5672, "rplay": 5555,
	"nrpe": 5666, "nsca": 5667, "x11": 6000, "gnutella-svc": 6346, "gnutella-rtr": 6347, "redis": 6379, "sge-qmaster": 6444, "sge-execd": 6445, "syslog-tls": 6514, "mysql-proxy": 6446, "ircd": 6667, "ircs-u": 6697, "bbs": 7000,
	"font-service": 7100, "zabbix-agent": 10050, "zabbix-trapper": 10051, "amanda": 10080, "http-alt": 8080, "webcache": 8080, "puppet": 8140, "https-alt": 8443, "hkp": 11371, "git": 9418, "nbd": 10809,
	"bacula-dir": 9101, "bacula-fd": 9102, "bacula-sd": 9103, "xmms2": 9667, "dicom": 11112, "mqtt": 1883, "secure-mqtt": 8883, "sflow": 6343, "ipfix": 4739, "ipfixs": 4740, "netconf-ssh": 830,
}
