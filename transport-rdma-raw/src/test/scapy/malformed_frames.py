#!/usr/bin/python3
"""Writes the stored inputs of FrameParserFuzz and DatagramStackFuzz: frames that broke other network stacks.

Needs scapy (Debian: python3-scapy). Run without arguments; the files go to src/test/resources.
"""
import pathlib

from scapy.config import conf

conf.checkIPaddr = False
from scapy.all import (ARP, Dot1Q, Ether, GRE, ICMP, IP, IPOption, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                       IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, Jumbo, LLC, Padding, Raw, RouterAlert, SNAP, TCP, UDP,
                       ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6MLQuery, ICMPv6MLQuery2, ICMPv6ND_NA, ICMPv6ND_NS,
                       ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6NDOptDstLLAddr, ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo,
                       ICMPv6NDOptSrcLLAddr, ICMPv6PacketTooBig, HBHOptUnknown, PadN)
from scapy.contrib.igmp import IGMP
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3mq

RESOURCES = pathlib.Path(__file__).resolve().parent.parent / "resources/io/rdmaraw"
US, PEER = "02:00:00:0f:00:01", "02:00:00:0f:00:02"
US4, PEER4, US6, PEER6, ROUTER6 = "10.15.0.1", "10.15.0.2", "fd15::1", "fd15::2", "fe80::15"
PORT, CONNECTED, PEER_PORT = 53, 4433, 2000

to_us = Ether(src=PEER, dst=US)
four = to_us / IP(src=PEER4, dst=US4)
six = to_us / IPv6(src=PEER6, dst=US6)
query = UDP(sport=PEER_PORT, dport=PORT)


def fragments(packet, size):
    """Splits the payload of the IP packet; scapy's own functions cannot make overlapping fragments."""
    payload = bytes(packet.payload)
    return [(at, payload[at:at + size], at + size < len(payload)) for at in range(0, len(payload), size)]


def four_fragment(at, data, more, ident=7):
    return to_us / IP(src=PEER4, dst=US4, id=ident, proto=17, flags="MF" if more else 0, frag=at // 8) / Raw(data)


def six_fragment(at, data, more, ident=7):
    return to_us / IPv6(src=PEER6, dst=US6) / IPv6ExtHdrFragment(nh=17, offset=at // 8, m=int(more), id=ident) / Raw(data)


whole4 = IP(src=PEER4, dst=US4) / query / Raw(bytes(range(256)) * 12)
whole6 = IPv6(src=PEER6, dst=US6) / query / Raw(bytes(range(256)) * 12)
whole4, whole6 = IP(bytes(whole4)), IPv6(bytes(whole6))
cut4 = [four_fragment(*f) for f in fragments(whole4, 1024)]
cut6 = [six_fragment(*f) for f in fragments(whole6, 1024)]
sent4 = IP(src=US4, dst=PEER4) / UDP(sport=PORT, dport=PEER_PORT) / Raw(b"x" * 20)
sent6 = IPv6(src=US6, dst=PEER6) / UDP(sport=PORT, dport=PEER_PORT) / Raw(b"x" * 20)

frames = {
    "udp4": four / query / Raw(b"hello"),
    "udp6": six / query / Raw(b"hello"),
    "udp4-no-checksum": four / UDP(sport=PEER_PORT, dport=PORT, chksum=0) / Raw(b"hello"),
    "udp6-no-checksum": six / UDP(sport=PEER_PORT, dport=PORT, chksum=0) / Raw(b"hello"),
    "udp4-length-lies-long": four / UDP(sport=1, dport=PORT, len=1000) / Raw(b"hello"),
    "udp4-length-lies-short": four / UDP(sport=1, dport=PORT, len=7) / Raw(b"hello"),
    "udp6-length-zero-as-jumbogram": six / UDP(sport=1, dport=PORT, len=0) / Raw(b"hello"),
    "udp4-port-zero": four / UDP(sport=0, dport=PORT) / Raw(b"hello"),
    "udp4-padded": Ether(bytes(four / query)) / Padding(b"\0" * 18),
    "udp-chargen-loop": four / UDP(sport=19, dport=19) / Raw(b"!" * 72),
    "land4": to_us / IP(src=US4, dst=US4) / UDP(sport=PORT, dport=PORT),
    "land6-tcp": to_us / IPv6(src=US6, dst=US6) / TCP(sport=80, dport=80, flags="S"),
    "from-loopback": to_us / IP(src="127.0.0.1", dst=US4) / query,
    "from-broadcast": to_us / IP(src="255.255.255.255", dst=US4) / query,
    "from-multicast": to_us / IP(src="224.0.0.1", dst=US4) / query,
    "to-unspecified6": to_us / IPv6(src=PEER6, dst="::") / query,
    "mapped-addresses-on-the-wire": to_us / IPv6(src="::ffff:10.15.0.2", dst="::ffff:10.15.0.1") / query,
    "group-source-mac": Ether(src="33:33:00:00:00:01", dst=US) / IP(src=PEER4, dst=US4) / query,
    "our-own-source-mac": Ether(src=US, dst=US) / IP(src=PEER4, dst=US4) / query,
    "ip-version-5": to_us / IP(src=PEER4, dst=US4, version=5) / query,
    "ip-version-6-in-ipv4-type": Ether(src=PEER, dst=US, type=0x800) / IPv6(src=PEER6, dst=US6) / query,
    "ihl-4": to_us / IP(src=PEER4, dst=US4, ihl=4) / query,
    "ihl-15-in-20-bytes": to_us / IP(src=PEER4, dst=US4, ihl=15, len=20),
    "total-length-beyond-frame": to_us / IP(src=PEER4, dst=US4, len=65535) / query,
    "total-length-0": to_us / IP(src=PEER4, dst=US4, len=0) / query,
    "ttl-0": to_us / IP(src=PEER4, dst=US4, ttl=0) / query,
    "reserved-flag": to_us / IP(src=PEER4, dst=US4, flags=4) / query,
    "option-length-0": to_us / IP(src=PEER4, dst=US4, options=IPOption(b"\x07\x00\x00\x00")) / query,
    "option-length-1": to_us / IP(src=PEER4, dst=US4, options=IPOption(b"\x44\x01\x00\x00")) / query,
    "option-runs-out": to_us / IP(src=PEER4, dst=US4, options=IPOption(b"\x01\x01\x01\x07")) / query,
    "loose-source-route": to_us / IP(src=PEER4, dst=US4, options=IPOption(b"\x83\x07\x04\x0a\x0f\x00\x09\x00")) / query,
    "forty-bytes-of-nop": to_us / IP(src=PEER4, dst=US4, options=IPOption(b"\x01" * 40)) / query,
    "tcp-null": four / TCP(sport=1, dport=80, flags=0),
    "tcp-xmas": four / TCP(sport=1, dport=80, flags="FSRPAUEC"),
    "tcp-offset-15": four / TCP(sport=1, dport=80, dataofs=15),
    "tcp-option-runs-out": four / TCP(sport=1, dport=80, dataofs=6) / Raw(b"\x02\x0a\x05\xb4"),
    "tcp-mss-0": four / TCP(sport=1, dport=80, flags="S", options=[("MSS", 0)]),
    "tcp-wscale-255": four / TCP(sport=1, dport=80, flags="S", options=[("WScale", 255)]),
    "hop-by-hop-jumbo": to_us / IPv6(src=PEER6, dst=US6, plen=0) / IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70000)]) / query,
    "hop-by-hop-twice": six / IPv6ExtHdrHopByHop() / IPv6ExtHdrHopByHop() / query,
    "hop-by-hop-behind-destination-options": six / IPv6ExtHdrDestOpt() / IPv6ExtHdrHopByHop() / query,
    "option-unknown-skip": six / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x1e, optdata=b"abcd")]) / query,
    "option-unknown-discard": six / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x9e, optdata=b"abcd")]) / query,
    "option-pad-runs-out": six / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=1, optlen=200, optdata=b"ab")]) / query,
    "routing-type-0": six / IPv6ExtHdrRouting(type=0, addresses=[PEER6, US6]) / query,
    "routing-type-0-none-left": six / IPv6ExtHdrRouting(type=0, segleft=0, addresses=[PEER6]) / query,
    "extension-length-255": six / IPv6ExtHdrDestOpt(len=255) / query,
    "thirty-extensions": Ether(bytes(to_us / IPv6(src=PEER6, dst=US6, nh=60) / Raw((b"\x3c" + b"\0" * 7) * 30 + b"\x11" + b"\0" * 7) / query)),
    "no-next-header": to_us / IPv6(src=PEER6, dst=US6, nh=59) / Raw(b"nothing to see"),
    "fragment-atomic": six_fragment(0, bytes(whole6.payload)[:1400], False),
    "fragment-tiny-tcp": to_us / IP(src=PEER4, dst=US4, proto=6, flags="MF", frag=0) / Raw(b"\0P\0P\0\0\0\0"),
    "fragment-beyond-64k": four_fragment(8191 * 8, b"a" * 64, False),
    "fragment6-beyond-64k": six_fragment(8191 * 8, b"a" * 64, False),
    "fragment-not-of-eight": four_fragment(0, b"a" * 13, True),
    "fragment6-empty": six_fragment(0, b"", True),
    "fragment6-twice": to_us / IPv6(src=PEER6, dst=US6) / IPv6ExtHdrFragment(nh=44, m=1, id=1) / IPv6ExtHdrFragment(nh=17, m=1, id=2) / Raw(b"a" * 16),
    "icmp-echo": four / ICMP() / Raw(b"abcdefgh"),
    "icmp-echo-broadcast": Ether(src=PEER, dst="ff:ff:ff:ff:ff:ff") / IP(src=PEER4, dst="10.15.0.255") / ICMP(),
    "icmp-port-unreachable": four / ICMP(type=3, code=3) / sent4,
    "icmp-frag-needed-mtu-0": four / ICMP(type=3, code=4, nexthopmtu=0) / sent4,
    "icmp-frag-needed-mtu-68": four / ICMP(type=3, code=4, nexthopmtu=68) / sent4,
    "icmp-quotes-nothing": four / ICMP(type=3, code=3),
    "icmp-quotes-icmp-error": four / ICMP(type=3, code=3) / IP(src=US4, dst=PEER4) / ICMP(type=3, code=3) / Raw(bytes(sent4)),
    "icmp-quote-ihl-15": four / ICMP(type=11, code=0) / IP(src=US4, dst=PEER4, ihl=15) / UDP(sport=PORT, dport=PEER_PORT),
    "icmp-redirect": four / ICMP(type=5, code=1, gw="10.15.0.9") / sent4,
    "icmp-source-quench": four / ICMP(type=4) / sent4,
    "icmp6-too-big-mtu-0": six / ICMPv6PacketTooBig(mtu=0) / sent6,
    "icmp6-too-big-mtu-4g": six / ICMPv6PacketTooBig(mtu=0xffffffff) / sent6,
    "icmp6-unreachable-fragment-quoted": six / ICMPv6DestUnreach(code=4) / IPv6(src=US6, dst=PEER6) / IPv6ExtHdrFragment(nh=17, offset=100) / Raw(b"a" * 8),
    "icmp6-echo": six / ICMPv6EchoRequest(data=b"abcdefgh"),
    "icmp6-bad-checksum": six / ICMPv6EchoRequest(cksum=0xffff),
    "ns": to_us / IPv6(src=PEER6, dst=US6, hlim=255) / ICMPv6ND_NS(tgt=US6) / ICMPv6NDOptSrcLLAddr(lladdr=PEER),
    "ns-from-afar": to_us / IPv6(src=PEER6, dst=US6, hlim=64) / ICMPv6ND_NS(tgt=US6),
    "ns-option-length-0": to_us / IPv6(src=PEER6, dst=US6, hlim=255) / ICMPv6ND_NS(tgt=US6) / Raw(b"\x01\x00\0\0\0\0\0\0"),
    "ns-probe-of-ours": Ether(src=PEER, dst="33:33:ff:00:00:01") / IPv6(src="::", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt=US6),
    "na-claims-ours": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=PEER6, dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt=US6, R=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=PEER),
    "na-of-group-mac": to_us / IPv6(src=PEER6, dst=US6, hlim=255) / ICMPv6ND_NA(tgt=PEER6, S=1) / ICMPv6NDOptDstLLAddr(lladdr="33:33:00:00:00:09"),
    "ra": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=255) / ICMPv6ND_RA(routerlifetime=1800) / ICMPv6NDOptSrcLLAddr(lladdr=PEER) / ICMPv6NDOptMTU(mtu=1280) / ICMPv6NDOptPrefixInfo(prefix="2001:db8::", prefixlen=64),
    "ra-prefix-of-129-bits": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=255) / ICMPv6ND_RA() / ICMPv6NDOptPrefixInfo(prefix="::", prefixlen=129),
    "ra-mtu-1": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=255) / ICMPv6ND_RA() / ICMPv6NDOptMTU(mtu=1),
    "redirect": to_us / IPv6(src=ROUTER6, dst=US6, hlim=255) / ICMPv6ND_Redirect(tgt=PEER6, dst="2001:db8::1"),
    "mld-query": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=1) / IPv6ExtHdrHopByHop(options=[RouterAlert(), PadN(optlen=0)]) / ICMPv6MLQuery2(mrd=100),
    "mld-query-of-group": Ether(src=PEER, dst="33:33:00:00:01:23") / IPv6(src=ROUTER6, dst="ff15::123", hlim=1) / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / ICMPv6MLQuery2(mladdr="ff15::123", mrd=65535, sources=[PEER6, "fd15::3"]),
    "mld-query-sources-lie": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=1) / ICMPv6MLQuery2(sources_number=65535),
    "mld-query-version-1": Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src=ROUTER6, dst="ff02::1", hlim=1) / ICMPv6MLQuery(mrd=0),
    "igmp-query": Ether(src=PEER, dst="01:00:5e:00:00:01") / IP(src=PEER4, dst="224.0.0.1", ttl=1) / IGMPv3(type=0x11, mrcode=20) / IGMPv3mq(),
    "igmp-query-of-group": Ether(src=PEER, dst="01:00:5e:01:02:03") / IP(src=PEER4, dst="239.1.2.3", ttl=1) / IGMPv3(type=0x11, mrcode=255) / IGMPv3mq(gaddr="239.1.2.3", numsrc=2, srcaddrs=["10.15.0.7", "10.15.0.8"]),
    "igmp-query-sources-lie": Ether(src=PEER, dst="01:00:5e:00:00:01") / IP(src=PEER4, dst="224.0.0.1", ttl=1) / IGMPv3(type=0x11) / IGMPv3mq(numsrc=16383),
    "igmp-query-version-2": Ether(src=PEER, dst="01:00:5e:00:00:01") / IP(src=PEER4, dst="224.0.0.1", ttl=1) / IGMP(type=0x11, mrcode=1),
    "igmp-query-version-1": Ether(src=PEER, dst="01:00:5e:00:00:01") / IP(src=PEER4, dst="224.0.0.1", ttl=1) / IGMP(type=0x11, mrcode=0),
    "igmp-7-bytes": to_us / IP(src=PEER4, dst=US4, proto=2) / Raw(b"\x11\0\xee\xff\0\0\0"),
    "arp-request": Ether(src=PEER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=PEER, psrc=PEER4, pdst=US4),
    "arp-claims-ours": Ether(src=PEER, dst="ff:ff:ff:ff:ff:ff") / ARP(op=2, hwsrc=PEER, psrc=US4, pdst=US4),
    "arp-group-mac": Ether(src=PEER, dst=US) / ARP(op=2, hwsrc="01:00:5e:00:00:01", psrc=PEER4, pdst=US4),
    "arp-hardware-length-8": Ether(src=PEER, dst=US) / ARP(op=1, hwlen=8, psrc=PEER4, pdst=US4),
    "arp-cut": Ether(bytes(Ether(src=PEER, dst=US) / ARP())[:30]),
    "vlan": Ether(src=PEER, dst=US) / Dot1Q(vlan=5) / IP(src=PEER4, dst=US4) / query,
    "vlan-three": Ether(src=PEER, dst=US) / Dot1Q(vlan=1) / Dot1Q(vlan=2) / Dot1Q(vlan=3) / IP(src=PEER4, dst=US4) / query,
    "vlan-cut": Ether(bytes(Ether(src=PEER, dst=US) / Dot1Q(vlan=5))[:16]),
    "802.3-llc": Ether(src=PEER, dst=US, type=38) / LLC(dsap=0xaa, ssap=0xaa, ctrl=3) / SNAP(code=0x800) / IP(src=PEER4, dst=US4) / query,
    "gre": four / GRE(proto=0x800) / IP(src="10.0.0.1", dst="10.0.0.2") / query,
    "protocol-255": to_us / IP(src=PEER4, dst=US4, proto=255) / Raw(b"?"),
}

overlapping = [four_fragment(0, b"a" * 64, True), four_fragment(32, b"b" * 64, False)]
teardrop = [four_fragment(0, bytes(whole4.payload)[:40], True), four_fragment(24, b"c" * 4, False)]
SECOND = 50

sequences = {
    "fragments4-in-order": [(0, f) for f in cut4],
    "fragments4-backwards": [(0, f) for f in reversed(cut4)],
    "fragments6-shuffled": [(0, cut6[i]) for i in (1, 3, 2, 0)],
    "fragments6-repeated": [(0, f) for f in cut6[:-1] + cut6],
    "fragments4-too-late": [(0, f) for f in cut4[:-1]] + [(250, cut4[0])] * 7 + [(0, cut4[-1])],
    "fragments-overlapping": [(0, f) for f in overlapping],
    "fragments-teardrop": [(0, f) for f in teardrop],
    "fragments-of-forty-datagrams": [(0, four_fragment(0, b"a" * 8, True, ident)) for ident in range(40)],
    "fragments-two-ends": [(0, four_fragment(64, b"a" * 8, False)), (0, four_fragment(80, b"a" * 8, False))],
    "neighbour-found-and-moved": [(0, frames["arp-request"]), (0, frames["udp4"]),
                                  (SECOND, Ether(src="02:00:00:0f:00:09", dst="ff:ff:ff:ff:ff:ff")
                                   / ARP(op=2, hwsrc="02:00:00:0f:00:09", psrc=PEER4, pdst=PEER4)),
                                  (0, frames["icmp-echo"])],
    "address-fought-over": [(0, frames["arp-claims-ours"]), (0, frames["na-claims-ours"])] * 20,
    "refused-ports": [(0, four / UDP(sport=PEER_PORT, dport=9) / Raw(b"x"))] * 80,
    "routers-galore": [(0, Ether(src=PEER, dst="33:33:00:00:00:01") / IPv6(src="fe80::%x" % n, dst="ff02::1", hlim=255)
                       / ICMPv6ND_RA(routerlifetime=n) / ICMPv6NDOptPrefixInfo(prefix="2001:db8:%x::" % n, prefixlen=64))
                       for n in range(1, 60)],
    "queries-new-old-and-new": [(0, frames["igmp-query"]), (SECOND, frames["igmp-query-version-2"]),
                                (SECOND, frames["igmp-query-of-group"]), (SECOND, frames["igmp-query-version-1"]),
                                (SECOND, frames["mld-query"]), (SECOND, frames["mld-query-version-1"]),
                                (SECOND, frames["mld-query-of-group"]), (255, frames["igmp-query"])],
    "connected-port": [(0, four / UDP(sport=PEER_PORT, dport=CONNECTED) / Raw(b"x")),
                       (0, four / UDP(sport=PEER_PORT + 1, dport=CONNECTED) / Raw(b"x"))],
}


def write(directory, name, data):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(data)


def record(pause, frame):
    data = bytes(frame)
    return bytes([pause]) + len(data).to_bytes(2, "big") + data


for name, frame in frames.items():
    write(RESOURCES / "wire/FrameParserFuzzInputs/anyBytes", name, bytes(frame))
for name, steps in sequences.items():
    write(RESOURCES / "channel/DatagramStackFuzzInputs/anyBytes", name, b"\0" + b"".join(record(*s) for s in steps))
for start, name in ((b"\0", "one-after-the-other"), (b"\1", "while-addresses-are-claimed")):
    write(RESOURCES / "channel/DatagramStackFuzzInputs/anyBytes", name,
          start + b"".join(record(n % 7, frame) for n, frame in enumerate(frames.values())))
