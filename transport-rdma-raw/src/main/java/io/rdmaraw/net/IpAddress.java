package io.rdmaraw.net;

import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.ParsedFrame;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/**
 * An IPv4 or IPv6 address as two numbers. IPv4 addresses are IPv4-mapped (RFC 4291 section 2.5.5.2), so that
 * both versions have the same representation.
 *
 * @param high the upper 64 bits
 * @param low  the lower 64 bits
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
    /** Link-local multicast scope (RFC 4291 section 2.7). */
    static final int LINK_SCOPE = 2;
    private static final int IPV4_LOOPBACK_NET = 127;
    /** Used instead of ByteBuffer, which would allocate two more objects per connection. */
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /**
     * Returns an IPv4 address.
     *
     * @param address the 32 bits of the address, the first byte being the most significant
     */
    public static IpAddress ipv4(int address) {
        return new IpAddress(0, MAPPED << 32 | address & 0xffff_ffffL);
    }

    /**
     * Parses an address literal such as {@code 10.0.0.1} or {@code fe80::1}. Does not resolve names.
     *
     * @throws IllegalArgumentException if the text is not an address literal
     */
    public static IpAddress parse(String text) {
        return of(InetAddress.ofLiteral(text));
    }

    /** Returns the solicited-node multicast group of this IPv6 address (RFC 4291 section 2.7.1). */
    public IpAddress solicitedNode() {
        return new IpAddress(0xff02L << 48, 0x1_ff00_0000L | low & 0xff_ffff);
    }

    /** Converts a JDK address. Its scope ID is dropped. */
    public static IpAddress of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return address instanceof Inet4Address ? ipv4((int) INT.get(bytes, 0))
                : new IpAddress((long) LONG.get(bytes, 0), (long) LONG.get(bytes, Long.BYTES));
    }

    /** Returns the source address of a packet. */
    public static IpAddress sourceOf(ParsedFrame packet) {
        return new IpAddress(packet.sourceHigh(), packet.sourceLow());
    }

    /** Returns the destination address of a packet. */
    public static IpAddress destinationOf(ParsedFrame packet) {
        return new IpAddress(packet.destinationHigh(), packet.destinationLow());
    }

    /** Returns whether an address, given as two halves, is a multicast group. */
    public static boolean isMulticast(long high, long low) {
        return isIpv4(high, low) ? Ipv4Header.isMulticast((int) low) : Ipv6Header.isMulticast(high);
    }

    /** Returns whether an address, given as two halves, is an IPv4 address. */
    public static boolean isIpv4(long high, long low) {
        return high == 0 && low >>> 32 == MAPPED;
    }

    /** Returns whether this is an IPv4 address. */
    public boolean isIpv4() {
        return isIpv4(high, low);
    }

    /** Returns the IP version, 4 or 6. */
    public int version() {
        return isIpv4() ? 4 : 6;
    }

    /** Returns the 32 bits of this IPv4 address. */
    public int ipv4() {
        return (int) low;
    }

    /** Returns whether this is {@code 0.0.0.0} or {@code ::}. */
    public boolean isAny() {
        return high == 0 && (low == 0 || low == ANY_IPV4.low);
    }

    /** Returns whether this is in {@code 127.0.0.0/8} or is {@code ::1}. */
    public boolean isLoopback() {
        return isIpv4() ? (int) low >>> 24 == IPV4_LOOPBACK_NET : high == 0 && low == 1;
    }

    /** Returns whether an address with this upper half is in {@code fe80::/10} (RFC 4291 section 2.5.6). */
    public static boolean isLinkLocal(long high) {
        return high >>> LINK_LOCAL_SHIFT == LINK_LOCAL_PREFIX;
    }

    /** Returns whether this is in {@code fe80::/10} (RFC 4291 section 2.5.6). */
    public boolean isLinkLocal() {
        return isLinkLocal(high);
    }

    /** Returns whether this is a multicast group. */
    public boolean isMulticast() {
        return isMulticast(high, low);
    }

    /** Returns the JDK's representation of this address, with the scope ID if it is link-local. */
    public InetAddress toInetAddress(int scopeId) {
        if (scopeId == 0 || !isLinkLocal()) {
            return toInetAddress();
        }
        try {
            return Inet6Address.getByAddress(null, toBytes(), scopeId);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("16 bytes are always an address", e);
        }
    }

    /** Returns the JDK's representation of this address. */
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

    /**
     * Replaces the generated method: that is a chain of method handles, which the JIT compiler inlines badly in
     * deep call chains.
     */
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
