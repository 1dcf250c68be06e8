package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * The question of a query.
 *
 * @param encoded encoded question, which the answer repeats unchanged, including upper and lower case
 * @param name    name in lower case with a trailing dot
 */
record Question(byte[] encoded, String name, DnsRecordType type, int dnsClass) implements DnsQuestion {
    @Override
    public long timeToLive() {
        return 0;
    }
}
