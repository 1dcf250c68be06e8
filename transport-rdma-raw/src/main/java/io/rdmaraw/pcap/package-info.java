/** The classic pcap file format, readable by Wireshark and tcpdump (draft-ietf-opsawg-pcap). */
package io.rdmaraw.pcap;
