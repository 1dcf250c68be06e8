package io.rdmaraw.examples.dns;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.dns.DefaultDnsRawRecord;
import io.netty.handler.codec.dns.DnsRawRecord;
import io.netty.handler.codec.dns.DnsRecordType;

/**
 * A record that is ready to be sent, by any loop, any number of times.
 *
 * @param encodedBytes its length in a message
 */
record ZoneRecord(DnsRawRecord record, int encodedBytes) {
    /** Type, class, TTL and length of the data. */
    private static final int FIXED_BYTES = 10;

    /** @param name with a dot at its end */
    static ZoneRecord of(String name, DnsRecordType type, long ttlSeconds, byte[] data) {
        ByteBuf content = Unpooled.directBuffer(Math.max(data.length, 1)).writeBytes(data);
        return new ZoneRecord(
                new DefaultDnsRawRecord(name, type, ttlSeconds, Unpooled.unreleasableBuffer(content)),
                Zone.encodedNameBytes(name) + FIXED_BYTES + data.length);
    }

    String name() {
        return record.name();
    }

    DnsRecordType type() {
        return record.type();
    }
}
