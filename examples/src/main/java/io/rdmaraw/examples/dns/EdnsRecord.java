package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.AbstractDnsOptPseudoRrRecord;

/** The OPT record of a response (RFC 6891), without options. */
final class EdnsRecord extends AbstractDnsOptPseudoRrRecord {
    /** The root's name, type, class, TTL and the length of no data. */
    static final int ENCODED_BYTES = 11;

    EdnsRecord(int maxUdpBytes, int extendedCode) {
        super(maxUdpBytes, extendedCode, 0);
    }
}
