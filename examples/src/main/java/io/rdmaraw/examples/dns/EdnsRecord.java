package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * An OPT record (RFC 6891), without its options.
 *
 * @param maxUdpBytes the longest datagram that its sender takes
 * @param flags       the extended code, the version and the flags
 */
record EdnsRecord(int maxUdpBytes, int flags) implements DnsRecord {
    /** Bytes of the name of the root, type, class, TTL and the length of no data. */
    static final int ENCODED_BYTES = 11;

    private static final int VERSION_SHIFT = 16;
    private static final int VERSION_MASK = 0xff;
    /** The part of BADVERS (16) that does not fit in the header's code (RFC 6891 section 6.1.3). */
    private static final int BADVERS_FLAGS = 1 << 24;

    /** Returns the record that tells a client with an unknown version which one the server has. */
    static EdnsRecord badVersion(int maxUdpBytes) {
        return new EdnsRecord(maxUdpBytes, BADVERS_FLAGS);
    }

    int version() {
        return flags >>> VERSION_SHIFT & VERSION_MASK;
    }

    @Override
    public String name() {
        return ".";
    }

    @Override
    public DnsRecordType type() {
        return DnsRecordType.OPT;
    }

    @Override
    public int dnsClass() {
        return maxUdpBytes;
    }

    @Override
    public long timeToLive() {
        return flags;
    }
}
