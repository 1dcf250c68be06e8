package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * A record of the zone.
 *
 * @param name    lower case, with a dot at its end
 * @param encoded its bytes in a message
 */
record ZoneRecord(String name, DnsRecordType type, long timeToLive, byte[] data, byte[] encoded)
        implements DnsRecord {
    /** A pointer to the only name with a known offset: that of the question, after the header (RFC 1035, 4.1.4). */
    private static final byte[] NAME_OF_QUESTION = {(byte) 0xc0, 12};

    static ZoneRecord of(String name, DnsRecordType type, long ttlSeconds, byte[] data) {
        return new ZoneRecord(name, type, ttlSeconds, data,
                RecordData.record(RecordData.name(name), type, ttlSeconds, data));
    }

    /** Returns this record as an answer to a question for its own name, which it need not repeat. */
    ZoneRecord withNameOfQuestion() {
        return new ZoneRecord(name, type, timeToLive, data,
                RecordData.record(NAME_OF_QUESTION, type, timeToLive, data));
    }

    @Override
    public int dnsClass() {
        return DnsRecord.CLASS_IN;
    }
}
