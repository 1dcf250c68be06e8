package io.rdmaraw.verbs.flow;

import java.net.Inet6Address;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** Parses and formats the addresses in flow rules. Accepts only literals, so that no name is resolved. */
final class FlowAddresses {
    private static final Pattern IPV4 = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}");
    private static final Pattern IPV6 = Pattern.compile("[0-9a-fA-F:]*:[0-9a-fA-F:.]*");
    private static final int MAC_LENGTH_BYTES = 6;
    private static final int IPV6_LENGTH_BYTES = 16;

    private FlowAddresses() {
    }

    static long mac(byte[] bytes) {
        if (bytes.length != MAC_LENGTH_BYTES) {
            throw new IllegalArgumentException("a MAC address has 6 bytes, not " + bytes.length);
        }
        return Long.parseLong(HexFormat.of().formatHex(bytes), 16);
    }

    static boolean isIpv4(String text) {
        return IPV4.matcher(text).matches();
    }

    static int ipv4(String text) {
        int result = 0;
        if (isIpv4(text)) {
            for (String octet : text.split("\\.")) {
                int value = Integer.parseInt(octet);
                if (value > 0xff) {
                    throw notAnAddress(text, "IPv4", "10.0.0.1");
                }
                result = result << Byte.SIZE | value;
            }
            return result;
        }
        throw notAnAddress(text, "IPv4", "10.0.0.1");
    }

    static int ipv4(byte[] address) {
        return (address[0] & 0xff) << 24 | (address[1] & 0xff) << 16 | (address[2] & 0xff) << 8 | address[3] & 0xff;
    }

    static String formatIpv4(int address) {
        return (address >>> 24) + "." + (address >>> 16 & 0xff) + "." + (address >>> 8 & 0xff) + "." + (address & 0xff);
    }

    static Ipv6Match.Bits ipv6(String text) {
        if (IPV6.matcher(text).matches()) {
            try {
                byte[] bytes = Inet6Address.ofLiteral(text).getAddress();
                if (bytes.length == IPV6_LENGTH_BYTES) {
                    return ipv6(bytes);
                }
                // The JDK converts IPv4-mapped literals to IPv4 addresses. Such addresses do not occur in IPv6
                // packets.
                throw new IllegalArgumentException("\"" + text + "\" is an IPv4-mapped address: match IPv4 instead");
            } catch (IllegalArgumentException e) {
                if (e.getMessage() != null && e.getMessage().endsWith("match IPv4 instead")) {
                    throw e;
                }
            }
        }
        throw notAnAddress(text, "IPv6", "2001:db8::1");
    }

    static Ipv6Match.Bits ipv6(byte[] bytes) {
        long high = 0;
        long low = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            high = high << Byte.SIZE | bytes[i] & 0xff;
            low = low << Byte.SIZE | bytes[i + Long.BYTES] & 0xff;
        }
        return new Ipv6Match.Bits(high, low);
    }

    static String formatIpv6(Ipv6Match.Bits bits) {
        StringBuilder groups = new StringBuilder();
        for (int i = 0; i < Long.BYTES; i++) {
            long half = i < 4 ? bits.high() : bits.low();
            groups.append(i == 0 ? "" : ":").append(Long.toHexString(half >>> 16 * (3 - i % 4) & 0xffff));
        }
        return groups.toString();
    }

    static int ipv4Mask(int prefixLength) {
        if (prefixLength < 0 || prefixLength > Integer.SIZE) {
            throw new IllegalArgumentException("an IPv4 prefix length is 0 to 32, not " + prefixLength);
        }
        return prefixLength == 0 ? 0 : -1 << Integer.SIZE - prefixLength;
    }

    static Ipv6Match.Bits ipv6Mask(int prefixLength) {
        if (prefixLength < 0 || prefixLength > 2 * Long.SIZE) {
            throw new IllegalArgumentException("an IPv6 prefix length is 0 to 128, not " + prefixLength);
        }
        return new Ipv6Match.Bits(prefix(Math.min(prefixLength, Long.SIZE)),
                prefix(Math.max(0, prefixLength - Long.SIZE)));
    }

    private static long prefix(int bits) {
        return bits == 0 ? 0 : -1L << Long.SIZE - bits;
    }

    /** Returns the prefix length of a mask, or -1 if the mask is not a prefix. */
    static int prefixLength(int mask) {
        int ones = Integer.numberOfLeadingZeros(~mask);
        return mask == ipv4Mask(ones) ? ones : -1;
    }

    /** Returns the prefix length of a mask, or -1 if the mask is not a prefix. */
    static int prefixLength(Ipv6Match.Bits mask) {
        int ones = Long.numberOfLeadingZeros(~mask.high());
        if (ones == Long.SIZE) {
            ones += Long.numberOfLeadingZeros(~mask.low());
        }
        return mask.equals(ipv6Mask(ones)) ? ones : -1;
    }

    private static IllegalArgumentException notAnAddress(String text, String family, String example) {
        return new IllegalArgumentException("\"" + text + "\" is not an " + family + " address such as " + example);
    }
}
