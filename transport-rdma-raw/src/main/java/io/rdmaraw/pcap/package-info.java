/** The classic pcap file format, for captures that Wireshark and tcpdump read (draft-ietf-opsawg-pcap). */
package io.rdmaraw.pcap;
