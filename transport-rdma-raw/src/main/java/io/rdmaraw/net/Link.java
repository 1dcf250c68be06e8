package io.rdmaraw.net;

/**
 * A network interface as the kernel describes it.
 *
 * @param index the kernel's number for it
 * @param name such as {@code eth0}
 * @param mac its MAC address, 48 bits
 * @param mtuBytes largest IP packet
 * @param flags {@code IFF_} flags of {@code <linux/if.h>}
 */
public record Link(int index, String name, long mac, int mtuBytes, int flags) {
    private static final int IFF_UP = 1;
    private static final int IFF_LOOPBACK = 8;
    private static final int IFF_LOWER_UP = 1 << 16;

    /** Returns whether it is switched on and has a carrier. */
    public boolean isUp() {
        return (flags & IFF_UP) != 0 && (flags & IFF_LOWER_UP) != 0;
    }

    /** Returns whether it is the kernel's loopback. */
    public boolean isLoopback() {
        return (flags & IFF_LOOPBACK) != 0;
    }
}
