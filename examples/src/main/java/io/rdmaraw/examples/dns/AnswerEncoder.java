package io.rdmaraw.examples.dns;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.UnsupportedMessageTypeException;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordEncoder;
import io.netty.handler.codec.dns.DnsRecordType;

/** Writes records that are already encoded. */
final class AnswerEncoder implements DnsRecordEncoder {
    @Override
    public void encodeQuestion(DnsQuestion question, ByteBuf out) {
        out.writeBytes(((Question) question).encoded());
    }

    @Override
    public void encodeRecord(DnsRecord record, ByteBuf out) {
        switch (record) {
            case ZoneRecord zoneRecord -> out.writeBytes(zoneRecord.encoded());
            case EdnsRecord edns -> out.writeByte(0).writeShort(DnsRecordType.OPT.intValue())
                    .writeShort(edns.maxUdpBytes()).writeInt(edns.flags()).writeShort(0);
            default -> throw new UnsupportedMessageTypeException(record, ZoneRecord.class, EdnsRecord.class);
        }
    }
}
