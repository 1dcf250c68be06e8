package io.rdmaraw.pcap;

import java.nio.ByteBuffer;

/** Constants and headers of the classic pcap file format (draft-ietf-opsawg-pcap). */
public final class PcapFormat {
    /** Magic number of files with microsecond timestamps. */
    public static final int MAGIC_MICROS = 0xa1b2c3d4;
    /** Magic number of files with nanosecond timestamps. */
    public static final int MAGIC_NANOS = 0xa1b23c4d;
    public static final int VERSION_MAJOR = 2;
    public static final int VERSION_MINOR = 4;
    public static final int LINKTYPE_ETHERNET = 1;
    /** Packets start with their IPv4 or IPv6 header. */
    public static final int LINKTYPE_RAW = 101;
    public static final int FILE_HEADER_BYTES = 24;
    public static final int RECORD_HEADER_BYTES = 16;
    /** libpcap's MAXIMUM_SNAPLEN. Readers reject longer records as damaged. */
    public static final int MAX_CAPTURED_BYTES = 262_144;

    private PcapFormat() {
    }

    /** Writes the header of a file with nanosecond timestamps, in the byte order of the buffer. */
    public static void putFileHeader(ByteBuffer out, int snapBytes, int linkType) {
        out.putInt(MAGIC_NANOS).putShort((short) VERSION_MAJOR).putShort((short) VERSION_MINOR);
        // Time zone and timestamp accuracy; the format requires both to be 0.
        out.putInt(0).putInt(0);
        out.putInt(snapBytes).putInt(linkType);
    }

    /**
     * Writes the header of a record.
     *
     * @param seconds       seconds since 1970
     * @param nanos         nanoseconds within the second
     * @param capturedBytes number of bytes of the packet that follow
     * @param lengthBytes   length of the whole packet
     */
    public static void putRecordHeader(ByteBuffer out, long seconds, int nanos, int capturedBytes, int lengthBytes) {
        out.putInt((int) seconds).putInt(nanos).putInt(capturedBytes).putInt(lengthBytes);
    }
}
