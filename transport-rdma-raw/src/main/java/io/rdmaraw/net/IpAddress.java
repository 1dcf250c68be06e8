package io.rdmaraw.net;

import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParsedFrame;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/**
 * An IPv4 or IPv6 address as two numbers. IPv4 addresses are in their IPv4-mapped form (RFC 4291 section 2.5.5.2), so
 * that one representation serves both.
 *
 * @param high the upper 64 bits
 * @param low the lower 64 bits
 */
public record IpAddress(long high, long low) {
    /** {@code 0.0.0.0}. */
    public static final IpAddress ANY_IPV4 = ipv4(0);
    /** {@code ::}. */
    public static final IpAddress ANY_IPV6 = new IpAddress(0, 0);
    /** {@code 127.0.0.1}. */
    public static final IpAddress LOOPBACK_IPV4 = ipv4(0x7f00_0001);
    /** {@code ::1}. */
    public static final IpAddress LOOPBACK_IPV6 = new IpAddress(0, 1);
    /** {@code 255.255.255.255}. */
    public static final IpAddress BROADCAST = ipv4(-1);

    private static final long MAPPED = 0xffffL;
    private static final int LINK_LOCAL_SHIFT = 54;
    private static final long LINK_LOCAL_PREFIX = 0xfe80L >>> 6;
    private static final int IPV4_LOOPBACK_NET = 127;
    /** Each connection has two addresses to convert, which a ByteBuffer would make two objects more. */
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /** Returns the address of these 32 bits. */
    public static IpAddress ipv4(int address) {
        return new IpAddress(0, MAPPED << 32 | address & 0xffff_ffffL);
    }

    /**
     * Returns the address that a text such as {@code 10.0.0.1} or {@code fe80::1} means; names are not looked up.
     *
     * @throws IllegalArgumentException when the text is no address
     */
    public static IpAddress parse(String text) {
        return of(InetAddress.ofLiteral(text));
    }

    /** Returns the solicited-node group of an IPv6 address (RFC 4291 section 2.7.1). */
    public IpAddress solicitedNode() {
        return new IpAddress(0xff02L << 48, 0x1_ff00_0000L | low & 0xff_ffff);
    }

    /** Returns the same address; a scope id is left out. */
    public static IpAddress of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return address instanceof Inet4Address ? ipv4((int) INT.get(bytes, 0))
                : new IpAddress((long) LONG.get(bytes, 0), (long) LONG.get(bytes, Long.BYTES));
    }

    /** Returns where a packet comes from. */
    public static IpAddress sourceOf(ParsedFrame packet) {
        return new IpAddress(packet.sourceHigh(), packet.sourceLow());
    }

    /** Returns where a packet goes to. */
    public static IpAddress destinationOf(ParsedFrame packet) {
        return new IpAddress(packet.destinationHigh(), packet.destinationLow());
    }

    /** Returns whether the address of these halves is a multicast group. */
    public static boolean isMulticast(long high, long low) {
        return high == 0 && low >>> 32 == MAPPED ? Ipv4Header.isMulticast((int) low) : Ipv6Header.isMulticast(high);
    }

    /** Returns whether it is an IPv4 address. */
    public boolean isIpv4() {
        return high == 0 && low >>> 32 == MAPPED;
    }

    /** Returns 4 or 6. */
    public int version() {
        return isIpv4() ? 4 : 6;
    }

    /** Returns the 32 bits of an IPv4 address. */
    public int ipv4() {
        return (int) low;
    }

    /** Returns whether it is {@code 0.0.0.0} or {@code ::}. */
    public boolean isAny() {
        return high == 0 && (low == 0 || low == ANY_IPV4.low);
    }

    /** Returns whether it is in {@code 127.0.0.0/8} or {@code ::1}. */
    public boolean isLoopback() {
        return isIpv4() ? (int) low >>> 24 == IPV4_LOOPBACK_NET : high == 0 && low == 1;
    }

    /** Returns whether it is in {@code fe80::/10} (RFC 4291 section 2.5.6). */
    public boolean isLinkLocal() {
        return high >>> LINK_LOCAL_SHIFT == LINK_LOCAL_PREFIX;
    }

    /** Returns whether it is a multicast group. */
    public boolean isMulticast() {
        return isMulticast(high, low);
    }

    /** Returns the address as the JDK has it. */
    public InetAddress toInetAddress() {
        try {
            return InetAddress.getByAddress(toBytes());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("4 and 16 bytes are always an address", e);
        }
    }

    private byte[] toBytes() {
        if (isIpv4()) {
            byte[] bytes = new byte[Integer.BYTES];
            INT.set(bytes, 0, (int) low);
            return bytes;
        }
        byte[] bytes = new byte[2 * Long.BYTES];
        LONG.set(bytes, 0, high);
        LONG.set(bytes, Long.BYTES, low);
        return bytes;
    }

    /** Written out: that of a record is a chain of method handles, of which too little is inlined below a deep call. */
    @Override
    public boolean equals(Object other) {
        return other instanceof IpAddress address && address.high == high && address.low == low;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(high * 31 + low);
    }

    @Override
    public String toString() {
        return toInetAddress().getHostAddress();
    }
}
