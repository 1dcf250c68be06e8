package io.rdmaraw.tools.demo.sockets;

/** The versions of IP. */
enum Family {
    IPV4(24, "198.18.77.", 20), IPV6(64, "fd72:6177::", 40);

    private static final int UDP_HEADER_BYTES = 8;

    private final int prefixLength;
    private final String network;
    private final int headerBytes;

    Family(int prefixLength, String network, int headerBytes) {
        this.prefixLength = prefixLength;
        this.network = network;
        this.headerBytes = headerBytes;
    }

    String addressOf(int host) {
        return network + host;
    }

    /** Returns the address with the prefix length. */
    String cidrOf(int host) {
        return addressOf(host) + '/' + prefixLength;
    }

    /** Returns the length of the longest datagram that is not fragmented. */
    int maxDatagramBytes(int mtuBytes) {
        return mtuBytes - headerBytes - UDP_HEADER_BYTES;
    }
}
