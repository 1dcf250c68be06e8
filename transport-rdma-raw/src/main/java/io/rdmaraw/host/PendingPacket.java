package io.rdmaraw.host;

import java.util.concurrent.ScheduledExecutorService;

/** A packet that waits for the MAC address of its next hop. */
public interface PendingPacket {
    /** Returns the next hop. */
    NextHop nextHop();

    /** Returns the loop on which the packet waits. */
    ScheduledExecutorService loop();

    /** Sends the packet to the resolved MAC address. */
    void send(long mac);

    /** Releases the packet because the hop is unreachable, too many packets or hops wait, or the loop ends. */
    void discard();
}
