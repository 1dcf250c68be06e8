package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** IPv6 neighbour discovery (RFC 4861): solicitations, advertisements and their options. */
public final class NeighborDiscovery {
    /** ICMPv6 type: router solicitation. */
    public static final int ROUTER_SOLICITATION = 133;
    /** ICMPv6 type: router advertisement. */
    public static final int ROUTER_ADVERTISEMENT = 134;
    /** ICMPv6 type: neighbour solicitation. */
    public static final int NEIGHBOR_SOLICITATION = 135;
    /** ICMPv6 type: neighbour advertisement. */
    public static final int NEIGHBOR_ADVERTISEMENT = 136;
    /** ICMPv6 type: redirect. */
    public static final int REDIRECT = 137;
    /** Length of a neighbour solicitation or advertisement without options: ICMPv6 header, flags and target. */
    public static final int NEIGHBOR_FIXED_LENGTH_BYTES = 24;
    /** Length of a link-layer address option for Ethernet. */
    public static final int LINK_LAYER_OPTION_BYTES = 8;
    /** Option: source link-layer address. */
    public static final int OPTION_SOURCE_LINK_LAYER = 1;
    /** Option: target link-layer address. */
    public static final int OPTION_TARGET_LINK_LAYER = 2;
    /** Advertisement flag: answer to a solicitation. */
    public static final int FLAG_SOLICITED = 0x4000_0000;
    /** Advertisement flag: overrides a cached address. */
    public static final int FLAG_OVERRIDE = 0x2000_0000;
    /** Returned by {@link #linkLayerOption} if there is no such option. */
    public static final long ABSENT = -1;

    private NeighborDiscovery() {
    }

    /** Returns whether the ICMPv6 type belongs to neighbour discovery. */
    public static boolean isNeighborDiscovery(int type) {
        return type >= ROUTER_SOLICITATION && type <= REDIRECT;
    }

    /** Returns the flags of an advertisement. */
    public static int flags(long address) {
        return NetworkOrder.getInt(address + 4);
    }

    /** Returns the upper half of the target address. */
    public static long targetHigh(long address) {
        return NetworkOrder.getLong(address + 8);
    }

    /** Returns the lower half of the target address. */
    public static long targetLow(long address) {
        return NetworkOrder.getLong(address + 16);
    }

    /**
     * Returns the MAC address in the first option of the given type, or {@link #ABSENT}. Reads at most
     * {@code messageLengthBytes} bytes starting at {@code address}.
     *
     * @param optionsOffset offset of the options: {@link #NEIGHBOR_FIXED_LENGTH_BYTES} for solicitations and
     *     advertisements
     */
    public static long linkLayerOption(long address, int messageLengthBytes, int optionsOffset, int optionType) {
        int offset = optionsOffset;
        while (offset + LINK_LAYER_OPTION_BYTES <= messageLengthBytes) {
            int lengthBytes = NetworkOrder.getU8(address + offset + 1) << 3;
            if (lengthBytes == 0) {
                return ABSENT;
            }
            if (NetworkOrder.getU8(address + offset) == optionType && lengthBytes == LINK_LAYER_OPTION_BYTES) {
                return NetworkOrder.getU48(address + offset + 2);
            }
            offset += lengthBytes;
        }
        return ABSENT;
    }

    /**
     * Returns whether the lengths, the code and the options are valid according to RFC 4861 sections 6.1 and 7.1.
     * The caller checks that the hop limit is 255.
     */
    static boolean isWellFormed(long address, int lengthBytes) {
        int offset = fixedLengthBytes(IcmpHeader.type(address));
        if (lengthBytes < offset || IcmpHeader.code(address) != 0) {
            return false;
        }
        while (offset < lengthBytes) {
            int remaining = lengthBytes - offset;
            int optionBytes = remaining < 2 ? 0 : NetworkOrder.getU8(address + offset + 1) << 3;
            if (optionBytes == 0 || optionBytes > remaining) {
                return false;
            }
            offset += optionBytes;
        }
        return true;
    }

    private static int fixedLengthBytes(int type) {
        return switch (type) {
            case ROUTER_SOLICITATION -> 8;
            case ROUTER_ADVERTISEMENT -> 16;
            case REDIRECT -> 40;
            default -> NEIGHBOR_FIXED_LENGTH_BYTES;
        };
    }

    /**
     * Writes a solicitation or advertisement with one link-layer address option and a checksum of 0.
     *
     * @return the length written
     */
    public static int write(long address, int type, int flags, long targetHigh, long targetLow, int optionType,
                            long mac) {
        IcmpHeader.write(address, type, 0, flags);
        NetworkOrder.putLong(address + 8, targetHigh);
        NetworkOrder.putLong(address + 16, targetLow);
        NetworkOrder.putU16(address + 24, optionType << 8 | 1);
        NetworkOrder.putU48(address + 26, mac);
        return NEIGHBOR_FIXED_LENGTH_BYTES + LINK_LAYER_OPTION_BYTES;
    }
}
