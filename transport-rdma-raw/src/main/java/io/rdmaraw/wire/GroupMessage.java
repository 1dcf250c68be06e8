package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * Messages of multicast group membership: IGMP (RFC 2236, RFC 3376) and MLD (RFC 2710, RFC 3810). The two differ
 * in their types, the length of addresses and the layout of queries.
 */
public final class GroupMessage {
    /** IGMP type: membership query. */
    public static final int IGMP_QUERY = 0x11;
    /** IGMP type: version 2 membership report. */
    public static final int IGMP_V2_REPORT = 0x16;
    /** IGMP type: version 2 leave group. */
    public static final int IGMP_V2_LEAVE = 0x17;
    /** IGMP type: version 3 membership report. */
    public static final int IGMP_V3_REPORT = 0x22;
    /** ICMPv6 type: multicast listener query. */
    public static final int MLD_QUERY = 130;
    /** ICMPv6 type: version 1 multicast listener report. */
    public static final int MLD_V1_REPORT = 131;
    /** ICMPv6 type: version 1 multicast listener done. */
    public static final int MLD_V1_DONE = 132;
    /** ICMPv6 type: version 2 multicast listener report. */
    public static final int MLD_V2_REPORT = 143;

    /** Record type: the listed sources are wanted. */
    public static final int MODE_IS_INCLUDE = 1;
    /** Record type: all sources except those listed are wanted. */
    public static final int MODE_IS_EXCLUDE = 2;
    /** Record type: changed to {@link #MODE_IS_INCLUDE}. */
    public static final int CHANGE_TO_INCLUDE = 3;
    /** Record type: changed to {@link #MODE_IS_EXCLUDE}. */
    public static final int CHANGE_TO_EXCLUDE = 4;
    /** Record type: additional sources are wanted. */
    public static final int ALLOW_NEW_SOURCES = 5;
    /** Record type: the listed sources are no longer wanted. */
    public static final int BLOCK_OLD_SOURCES = 6;

    /** Length of a report before its first record, and of an IGMP version 2 message. */
    public static final int REPORT_HEADER_BYTES = 8;
    /** Length of an MLD version 1 message. */
    public static final int MLD_V1_BYTES = 24;
    private static final int RECORD_HEADER_BYTES = 4;
    private static final int IGMP_V2_QUERY_BYTES = 8;
    private static final int IGMP_V3_QUERY_BYTES = 12;
    private static final int MLD_V2_QUERY_BYTES = 28;
    private static final int MILLIS_PER_IGMP_UNIT = 100;

    private GroupMessage() {
    }

    private static int addressBytes(boolean ipv4) {
        return ipv4 ? Integer.BYTES : 2 * Long.BYTES;
    }

    /**
     * Returns the version of a query, which follows from its length (RFC 3376 section 7.1, RFC 3810 section 8.1):
     * 1, 2 or 3 for IGMP, 1 or 2 for MLD. Returns 0 if the message is invalid or its sources exceed its length.
     */
    public static int queryVersion(long message, int lengthBytes, boolean ipv4) {
        if (ipv4) {
            if (lengthBytes == IGMP_V2_QUERY_BYTES) {
                return NetworkOrder.getU8(message + 1) == 0 ? 1 : 2;
            }
            return isWholeQuery(message, lengthBytes, IGMP_V3_QUERY_BYTES, true) ? 3 : 0;
        }
        if (lengthBytes == MLD_V1_BYTES) {
            return 1;
        }
        return isWholeQuery(message, lengthBytes, MLD_V2_QUERY_BYTES, false) ? 2 : 0;
    }

    private static boolean isWholeQuery(long message, int lengthBytes, int headerBytes, boolean ipv4) {
        return lengthBytes >= headerBytes
                && NetworkOrder.getU16(message + headerBytes - 2) * addressBytes(ipv4) <= lengthBytes - headerBytes;
    }

    /**
     * Returns the maximum response time of a query in milliseconds. Not valid for IGMP version 1, which has no such
     * field. The field is linear in IGMP 2 (RFC 2236 section 2.2) and MLD 1 (RFC 2710 section 3.4). In IGMP 3 and MLD 2
     * large values are floating-point numbers.
     *
     * @param newest whether the query is of IGMP 3 or MLD 2
     */
    public static int maximumResponseMillis(long message, boolean ipv4, boolean newest) {
        if (!ipv4) {
            // RFC 3810 section 5.1.3: values from 0x8000 on have three bits of exponent and twelve of mantissa.
            int code = NetworkOrder.getU16(message + 4);
            return code < 0x8000 || !newest ? code : ((code & 0xfff) | 0x1000) << ((code >>> 12 & 7) + 3);
        }
        // RFC 3376 section 4.1.1: values from 0x80 on have three bits of exponent and four of mantissa.
        int code = NetworkOrder.getU8(message + 1);
        return MILLIS_PER_IGMP_UNIT * (code < 0x80 || !newest ? code : ((code & 0xf) | 0x10) << ((code >>> 4 & 7) + 3));
    }

    /** Returns the address of the group field of a query, or of a version 1 or 2 report. */
    public static long groupFieldAddress(long message, boolean ipv4) {
        return message + (ipv4 ? 4 : 8);
    }

    /** Returns the robustness variable of a query of the latest version; 0 if its sender does not specify it. */
    public static int robustness(long message, boolean ipv4) {
        return NetworkOrder.getU8(message + (ipv4 ? 8 : 24)) & 7;
    }

    /** Returns the number of sources of a query of the latest version. */
    public static int sourceCount(long message, boolean ipv4) {
        return NetworkOrder.getU16(message + (ipv4 ? IGMP_V3_QUERY_BYTES : MLD_V2_QUERY_BYTES) - 2);
    }

    /** Returns the address of a source field of a query of the latest version. */
    public static long sourceFieldAddress(long message, boolean ipv4, int index) {
        return message + (ipv4 ? IGMP_V3_QUERY_BYTES : MLD_V2_QUERY_BYTES) + (long) index * addressBytes(ipv4);
    }

    /** Returns the length of a record with the given number of sources. */
    public static int recordBytes(int sources, boolean ipv4) {
        return RECORD_HEADER_BYTES + (1 + sources) * addressBytes(ipv4);
    }

    /** Writes the header of a report of the latest version, with a checksum of 0. */
    public static void writeReport(long message, int records, boolean ipv4) {
        NetworkOrder.putInt(message, (ipv4 ? IGMP_V3_REPORT : MLD_V2_REPORT) << 24);
        NetworkOrder.putInt(message + 4, records);
    }

    /** Writes the header of a record without its group and sources. Returns the address of the group field. */
    public static long writeRecord(long address, int type, int sources) {
        NetworkOrder.putInt(address, type << 24 | sources);
        return address + RECORD_HEADER_BYTES;
    }

    /**
     * Writes a report or leave message of an older version without its group, with a checksum of 0.
     *
     * @return the length including the group
     */
    public static int writeLegacy(long message, int type, boolean ipv4) {
        NetworkOrder.putInt(message, type << 24);
        NetworkOrder.putInt(message + 4, 0);
        return ipv4 ? REPORT_HEADER_BYTES : MLD_V1_BYTES;
    }
}
