package io.rdmaraw.net;

/**
 * A network interface of the kernel.
 *
 * @param index    interface index
 * @param name     interface name, such as {@code eth0}
 * @param mac      MAC address, 48 bits
 * @param mtuBytes maximum length of an IP packet
 * @param flags    {@code IFF_} flags of {@code <linux/if.h>}
 */
public record Link(int index, String name, long mac, int mtuBytes, int flags) {
    private static final int IFF_UP = 1;
    private static final int IFF_LOOPBACK = 8;
    private static final int IFF_LOWER_UP = 1 << 16;

    /** Returns whether the interface is enabled and has a carrier. */
    public boolean isUp() {
        return (flags & IFF_UP) != 0 && (flags & IFF_LOWER_UP) != 0;
    }

    /** Returns whether the interface is enabled. */
    public boolean isEnabled() {
        return (flags & IFF_UP) != 0;
    }

    /** Returns whether this is the kernel's loopback interface. */
    public boolean isLoopback() {
        return (flags & IFF_LOOPBACK) != 0;
    }
}
