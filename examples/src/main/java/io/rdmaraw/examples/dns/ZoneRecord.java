package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * A record of the zone.
 *
 * @param name    name in lower case with a trailing dot
 * @param encoded encoded record
 */
record ZoneRecord(String name, DnsRecordType type, long timeToLive, byte[] data, byte[] encoded)
        implements DnsRecord {
    /** A compression pointer to the name of the question, which always follows the header (RFC 1035 section 4.1.4). */
    private static final byte[] NAME_OF_QUESTION = {(byte) 0xc0, 12};

    static ZoneRecord of(String name, DnsRecordType type, long ttlSeconds, byte[] data) {
        return new ZoneRecord(name, type, ttlSeconds, data,
                RecordData.record(RecordData.name(name), type, ttlSeconds, data));
    }

    /** Returns this record for an answer to a question for the same name: a pointer replaces the name. */
    ZoneRecord withNameOfQuestion() {
        return new ZoneRecord(name, type, timeToLive, data,
                RecordData.record(NAME_OF_QUESTION, type, timeToLive, data));
    }

    @Override
    public int dnsClass() {
        return DnsRecord.CLASS_IN;
    }
}
