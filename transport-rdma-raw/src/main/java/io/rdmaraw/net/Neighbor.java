package io.rdmaraw.net;

/**
 * What the kernel knows of a host on a link.
 *
 * @param linkIndex the link
 * @param address the host
 * @param mac its MAC address, or {@link #NO_MAC}
 * @param state {@code NUD_} state of {@code <linux/neighbour.h>}
 */
public record Neighbor(int linkIndex, IpAddress address, long mac, int state) {
    /** No MAC address is known. */
    public static final long NO_MAC = -1;
    /** Being asked for. */
    public static final int INCOMPLETE = 0x01;
    /** Confirmed lately. */
    public static final int REACHABLE = 0x02;
    /** Known, not confirmed lately. */
    public static final int STALE = 0x04;
    /** Does not answer. */
    public static final int FAILED = 0x20;
    /** Set by hand. */
    public static final int PERMANENT = 0x80;

    /** Returns whether it was asked and did not answer. */
    public boolean isFailed() {
        return (state & FAILED) != 0;
    }

    /** Returns whether frames can be sent to it. */
    public boolean isResolved() {
        return mac != NO_MAC && (state & (INCOMPLETE | FAILED)) == 0;
    }
}
