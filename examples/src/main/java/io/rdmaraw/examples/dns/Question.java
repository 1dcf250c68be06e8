package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * A question as the client sent it.
 *
 * @param encoded   its bytes in the message: the answer repeats them, upper and lower case as they are
 * @param name      lower case, with a dot at its end
 */
record Question(byte[] encoded, String name, DnsRecordType type, int dnsClass) implements DnsQuestion {
    @Override
    public long timeToLive() {
        return 0;
    }
}
