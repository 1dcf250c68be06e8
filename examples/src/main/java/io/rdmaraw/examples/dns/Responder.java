package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsOpCode;
import io.netty.handler.codec.dns.DnsQuery;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponse;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.codec.dns.DnsSection;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** Says what the answer to a query is. Thread-safe. */
final class Responder {
    /** What every client takes (RFC 1035 section 4.2.1). */
    private static final int MIN_UDP_BYTES = 512;
    private static final int HEADER_BYTES = 12;
    private static final int TYPE_AND_CLASS_BYTES = 4;
    private static final int VERSION_SHIFT = 16;
    private static final int VERSION_MASK = 0xff;
    /** The part of BADVERS (16) that does not fit in the header's code (RFC 6891 section 6.1.3). */
    private static final int BADVERS_EXTENDED_CODE = 1;

    private final Zone zone;
    private final int maxUdpBytes;
    private final LongAdder unreadable = new LongAdder();

    Responder(Zone zone, int maxUdpBytes) {
        this.zone = zone;
        this.maxUdpBytes = maxUdpBytes;
    }

    void countUnreadable() {
        unreadable.increment();
    }

    /** Returns how many messages were no queries. */
    long unreadable() {
        return unreadable.sum();
    }

    /** Fills the response; it stays as short as the client's announcement demands, by being marked as truncated. */
    void answerDatagram(DnsQuery query, DnsResponse response) {
        int limit = maxBytes(query);
        int length = answer(query, response);
        if (length > limit) {
            DnsRecord edns = response.count(DnsSection.ADDITIONAL) == 0 ? null
                    : response.recordAt(DnsSection.ADDITIONAL);
            response.clear(DnsSection.ANSWER).clear(DnsSection.AUTHORITY).setTruncated(true);
            if (edns == null) {
                response.clear(DnsSection.ADDITIONAL);
            }
        }
    }

    private int maxBytes(DnsQuery query) {
        if (query.count(DnsSection.ADDITIONAL) == 0) {
            return MIN_UDP_BYTES;
        }
        DnsRecord edns = query.recordAt(DnsSection.ADDITIONAL);
        return edns.type().equals(DnsRecordType.OPT)
                ? Math.clamp(edns.dnsClass(), MIN_UDP_BYTES, Math.max(maxUdpBytes, MIN_UDP_BYTES)) : MIN_UDP_BYTES;
    }

    /**
     * Fills the response.
     *
     * @return the bytes of the message
     */
    int answer(DnsQuery query, DnsResponse response) {
        response.setRecursionDesired(query.isRecursionDesired());
        int length = HEADER_BYTES + answerEdns(query, response);
        if (response.count(DnsSection.ADDITIONAL) > 0 && hasForeignVersion(query)) {
            return length;
        }
        if (!query.opCode().equals(DnsOpCode.QUERY)) {
            response.setCode(DnsResponseCode.NOTIMP);
            return length;
        }
        if (query.count(DnsSection.QUESTION) != 1) {
            response.setCode(DnsResponseCode.FORMERR);
            return length;
        }
        DnsQuestion question = query.recordAt(DnsSection.QUESTION);
        response.addRecord(DnsSection.QUESTION, question);
        length += Zone.encodedNameBytes(question.name()) + TYPE_AND_CLASS_BYTES;
        if (question.dnsClass() != DnsRecord.CLASS_IN) {
            response.setCode(DnsResponseCode.REFUSED);
            return length;
        }
        Zone.Answer answer = zone.find(question.name(), question.type());
        response.setCode(answer.code()).setAuthoritativeAnswer(answer.code() != DnsResponseCode.REFUSED);
        return length + add(response, DnsSection.ANSWER, answer.records())
                + add(response, DnsSection.AUTHORITY, answer.authority());
    }

    private static int add(DnsResponse response, DnsSection section, List<ZoneRecord> records) {
        int length = 0;
        for (ZoneRecord record : records) {
            response.addRecord(section, record.record());
            length += record.encodedBytes();
        }
        return length;
    }

    /** A client that speaks EDNS is told that we do, and up to what length of datagram (RFC 6891 section 6.1.1). */
    private int answerEdns(DnsQuery query, DnsResponse response) {
        if (query.count(DnsSection.ADDITIONAL) == 0
                || !query.recordAt(DnsSection.ADDITIONAL).type().equals(DnsRecordType.OPT)) {
            return 0;
        }
        boolean foreign = hasForeignVersion(query);
        response.addRecord(DnsSection.ADDITIONAL, new EdnsRecord(maxUdpBytes, foreign ? BADVERS_EXTENDED_CODE : 0));
        return EdnsRecord.ENCODED_BYTES;
    }

    private static boolean hasForeignVersion(DnsQuery query) {
        DnsRecord edns = query.recordAt(DnsSection.ADDITIONAL);
        return edns.type().equals(DnsRecordType.OPT)
                && (edns.timeToLive() >>> VERSION_SHIFT & VERSION_MASK) != 0;
    }
}
