package io.rdmaraw.examples.dns;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.CorruptedFrameException;
import io.netty.handler.codec.dns.DefaultDnsRecordDecoder;
import io.netty.handler.codec.dns.DnsQuestion;
import io.netty.handler.codec.dns.DnsRecord;
import io.netty.handler.codec.dns.DnsRecordDecoder;
import io.netty.handler.codec.dns.DnsRecordType;

import java.nio.charset.StandardCharsets;

/** Decodes the parts of a query that the server uses: the question, which stays encoded, and the OPT record. */
final class QueryDecoder implements DnsRecordDecoder {
    private static final int MAX_NAME_BYTES = 255;
    private static final int MAX_LABEL_BYTES = 63;
    /** Length of a root name, type, class, TTL and data length. */
    private static final int EDNS_BYTES = 11;
    private static final int TYPE_AND_CLASS_BYTES = 4;

    @Override
    public DnsQuestion decodeQuestion(ByteBuf in) {
        int start = in.readerIndex();
        byte[] lowerCase = new byte[nameBytes(in, start)];
        in.getBytes(start, lowerCase);
        String name = text(lowerCase);
        byte[] encoded = new byte[lowerCase.length + TYPE_AND_CLASS_BYTES];
        in.readBytes(encoded);
        int typeIndex = start + lowerCase.length;
        return new Question(encoded, name, DnsRecordType.valueOf(in.getUnsignedShort(typeIndex)),
                in.getUnsignedShort(typeIndex + Short.BYTES));
    }

    /**
     * Returns the encoded length of a name. The question is the first record, so its name has no compression pointers.
     */
    private static int nameBytes(ByteBuf in, int start) {
        int index = start;
        for (int label = in.getUnsignedByte(index); label != 0; label = in.getUnsignedByte(index)) {
            index += 1 + label;
            if (label > MAX_LABEL_BYTES || index - start >= MAX_NAME_BYTES) {
                throw new CorruptedFrameException("a question's name has a label of " + label + " bytes at "
                        + (index - start) + ", or is longer than 255 bytes");
            }
        }
        return index + 1 - start;
    }

    /** Converts labels to a name in lower case, in place. Dots inside a label are not escaped. */
    private static String text(byte[] labels) {
        if (labels.length == 1) {
            return ".";
        }
        int next = labels[0] + 1;
        for (int i = 1; i < labels.length; i++) {
            byte c = labels[i];
            if (i == next) {
                next += c + 1;
                labels[i] = '.';
            } else if (c >= 'A' && c <= 'Z') {
                labels[i] = (byte) (c + ('a' - 'A'));
            }
        }
        return new String(labels, 1, labels.length - 1, StandardCharsets.ISO_8859_1);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T extends DnsRecord> T decodeRecord(ByteBuf in) throws Exception {
        int start = in.readerIndex();
        boolean edns = in.readableBytes() >= EDNS_BYTES && in.getByte(start) == 0
                && in.getUnsignedShort(start + 1) == DnsRecordType.OPT.intValue();
        if (!edns) {
            return DefaultDnsRecordDecoder.DEFAULT.decodeRecord(in);
        }
        in.skipBytes(EDNS_BYTES - Short.BYTES);
        in.skipBytes(in.readUnsignedShort());
        return (T) new EdnsRecord(in.getUnsignedShort(start + 3), in.getInt(start + 5));
    }
}
