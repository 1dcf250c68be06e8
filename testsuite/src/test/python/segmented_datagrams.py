"""Sends datagrams the way QUIC does: one call for many, which the kernel or the card cuts (UDP_SEGMENT of udp(7)).

segmented_datagrams.py ADDRESS PORT SEGMENT_BYTES LAST_BYTES COUNT: COUNT datagrams of SEGMENT_BYTES and one of LAST_BYTES.
Byte i of datagram n is (n + i) % 251.
"""
import socket
import sys

UDP_SEGMENT = 103

address, port, segment_bytes, last_bytes, count = sys.argv[1], *map(int, sys.argv[2:])
sender = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment_bytes)
sizes = [segment_bytes] * count + [last_bytes]
sender.sendto(b"".join(bytes((n + i) % 251 for i in range(size)) for n, size in enumerate(sizes)), (address, port))
