package io.rdmaraw.net;

/**
 * An entry of the kernel's neighbour table.
 *
 * @param linkIndex index of the link
 * @param address   IP address of the neighbour
 * @param mac       MAC address, or {@link #NO_MAC}
 * @param state     {@code NUD_} state of {@code <linux/neighbour.h>}
 */
public record Neighbor(int linkIndex, IpAddress address, long mac, int state) {
    /** The MAC address is unknown. */
    public static final long NO_MAC = -1;
    /** Resolution is in progress. */
    public static final int INCOMPLETE = 0x01;
    /** Confirmed recently. */
    public static final int REACHABLE = 0x02;
    /** Known, but not confirmed recently. */
    public static final int STALE = 0x04;
    /** Resolution has failed. */
    public static final int FAILED = 0x20;
    /** Configured manually. */
    public static final int PERMANENT = 0x80;

    /** Returns whether resolution has failed. */
    public boolean isFailed() {
        return (state & FAILED) != 0;
    }

    /** Returns whether frames can be sent to the neighbour. */
    public boolean isResolved() {
        return mac != NO_MAC && (state & (INCOMPLETE | FAILED)) == 0;
    }
}
