package io.rdmaraw.tools.pcap;

/** Numbers of the classic pcap file format (draft-ietf-opsawg-pcap). */
final class PcapFormat {
    static final int MAGIC_MICROS = 0xa1b2c3d4;
    static final int MAGIC_NANOS = 0xa1b23c4d;
    /** The section header block type that a pcapng file begins with; the same in both byte orders. */
    static final int PCAPNG_MAGIC = 0x0a0d0d0a;
    static final int VERSION_MAJOR = 2;
    static final int VERSION_MINOR = 4;
    static final int LINKTYPE_ETHERNET = 1;
    static final int FILE_HEADER_BYTES = 24;
    static final int RECORD_HEADER_BYTES = 16;
    /** libpcap's MAXIMUM_SNAPLEN: a longer record is taken for a damaged file, not for memory to allocate. */
    static final int MAX_CAPTURED_BYTES = 262_144;
    /** The upper bits of the link type field hold the FCS length and flags. */
    static final int LINKTYPE_MASK = 0xffff;

    private PcapFormat() {
    }
}
