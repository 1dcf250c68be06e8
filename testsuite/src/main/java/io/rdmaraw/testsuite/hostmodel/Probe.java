package io.rdmaraw.testsuite.hostmodel;

/**
 * A packet or connection of a scenario.
 *
 * @param kind        kind of the probe
 * @param link        for incoming packets, the link on which they arrive, starting at 0; for outgoing ones, the scope
 *                    of the destination, or -1 for none
 * @param via         for incoming packets, the address of the peer with the source MAC address; empty for outgoing ones
 * @param source      for incoming packets, the address of the peer; for outgoing ones, the bound address, or empty
 * @param destination destination IP address
 * @param detail      number of the connection for {@link Kind#OPEN_LIVE} and {@link Kind#LIVE_DATA}, length of the
 *                    payload for UDP, otherwise 0
 */
record Probe(Kind kind, int link, String via, String source, String destination, int detail) {
    /** The kinds of probes. */
    enum Kind {
        /** A SYN arrives at a listening port. */
        SYN,
        /** A peer opens a connection and sends data that the server echoes. */
        EXCHANGE,
        /** Same as {@link #EXCHANGE} with urgent data. */
        URGENT,
        /** Same as {@link #EXCHANGE}, but the connection stays open for {@link #LIVE_DATA}. */
        OPEN_LIVE,
        /** Data on a connection of {@link #OPEN_LIVE}. */
        LIVE_DATA,
        /** A datagram arrives that the server echoes. */
        DATAGRAM,
        /** The host sends a datagram. */
        SEND,
        /** The host opens a connection. */
        CONNECT,
        /** A client on the host connects to the server at an address of the host. */
        LOCAL_CONNECT;

        boolean isIncoming() {
            return this != SEND && this != CONNECT && this != LOCAL_CONNECT;
        }

        boolean isTcp() {
            return this != SEND && this != DATAGRAM;
        }
    }

    boolean isIpv6() {
        return destination.contains(":");
    }

    @Override
    public String toString() {
        String size = kind == Kind.LIVE_DATA || kind == Kind.OPEN_LIVE ? " #" + detail
                : detail == 0 ? "" : " " + detail + " bytes";
        if (kind.isIncoming()) {
            return kind + size + " " + source + " > " + destination + " by up" + link + ", from the MAC address of "
                    + via;
        }
        return kind + size + " to " + destination + (link < 0 ? "" : "%up" + link)
                + (source.isEmpty() ? "" : " from " + source);
    }
}
