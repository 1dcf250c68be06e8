package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * An OPT record (RFC 6891) without options.
 *
 * @param maxUdpBytes maximum length of a datagram that its sender accepts
 * @param flags       extended response code, version and flags
 */
record EdnsRecord(int maxUdpBytes, int flags) implements DnsRecord {
    /** Encoded length: the root name, type, class, TTL, and a data length of 0. */
    static final int ENCODED_BYTES = 11;

    private static final int VERSION_SHIFT = 16;
    private static final int VERSION_MASK = 0xff;
    /** The upper bits of the response code BADVERS (16), which do not fit in the header (RFC 6891 section 6.1.3). */
    private static final int BADVERS_FLAGS = 1 << 24;

    /** Returns the OPT record for the response to a query with an unsupported EDNS version. */
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
