package io.rdmaraw.examples.dns;

import io.netty.handler.codec.dns.DnsOpCode;
import io.netty.handler.codec.dns.DnsQuery;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsResponse;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.codec.dns.DnsSection;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** Creates the answers to queries. Thread-safe. */
final class Responder {
    /** The datagram length that every client accepts (RFC 1035 section 4.2.1). */
    private static final int MIN_UDP_BYTES = 512;
    private static final int HEADER_BYTES = 12;

    private final Zone zone;
    private final int maxUdpBytes;
    private final EdnsRecord ourEdns;
    private final EdnsRecord ourEdnsForOthers;
    private final LongAdder unreadable = new LongAdder();

    Responder(Zone zone, int maxUdpBytes) {
        this.zone = zone;
        this.maxUdpBytes = maxUdpBytes;
        ourEdns = new EdnsRecord(maxUdpBytes, 0);
        ourEdnsForOthers = EdnsRecord.badVersion(maxUdpBytes);
    }

    void countUnreadable() {
        unreadable.increment();
    }

    /** Returns the number of messages that could not be decoded as a query. */
    long unreadable() {
        return unreadable.sum();
    }

    /**
     * Fills the response to a datagram. A response that exceeds the client's limit is emptied and marked as truncated.
     */
    void answerDatagram(DnsQuery query, DnsResponse response) {
        EdnsRecord edns = edns(query);
        int limit = edns == null ? MIN_UDP_BYTES
                : Math.clamp(edns.maxUdpBytes(), MIN_UDP_BYTES, Math.max(maxUdpBytes, MIN_UDP_BYTES));
        if (answer(query, response) > limit) {
            response.clear(DnsSection.ANSWER).clear(DnsSection.AUTHORITY).setTruncated(true);
        }
    }

    private static EdnsRecord edns(DnsQuery query) {
        return query.count(DnsSection.ADDITIONAL) > 0
                && query.recordAt(DnsSection.ADDITIONAL) instanceof EdnsRecord edns ? edns : null;
    }

    /**
     * Fills the response.
     *
     * @return the length of the encoded message
     */
    int answer(DnsQuery query, DnsResponse response) {
        response.setRecursionDesired(query.isRecursionDesired());
        int length = HEADER_BYTES;
        EdnsRecord edns = edns(query);
        if (edns != null) {
            // Answer a client that supports EDNS with our own maximum datagram length (RFC 6891 section 6.1.1).
            length += EdnsRecord.ENCODED_BYTES;
            response.addRecord(DnsSection.ADDITIONAL, edns.version() == 0 ? ourEdns : ourEdnsForOthers);
            if (edns.version() != 0) {
                return length;
            }
        }
        if (!query.opCode().equals(DnsOpCode.QUERY)) {
            response.setCode(DnsResponseCode.NOTIMP);
        } else if (query.count(DnsSection.QUESTION) != 1) {
            response.setCode(DnsResponseCode.FORMERR);
        } else {
            length += answer((Question) query.recordAt(DnsSection.QUESTION), response);
        }
        return length;
    }

    private int answer(Question question, DnsResponse response) {
        response.addRecord(DnsSection.QUESTION, question);
        int length = question.encoded().length;
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
            response.addRecord(section, record);
            length += record.encoded().length;
        }
        return length;
    }
}
