package io.rdmaraw.host;

import java.util.concurrent.ScheduledExecutorService;


/** What waits for the MAC address of its next hop. */
public interface PendingPacket {
    /** Returns the next hop. */
    NextHop nextHop();

    /** Returns the loop it waits on. */
    ScheduledExecutorService loop();

    /** The address is known: sends it. */
    void send(long mac);

    /** The hop does not answer, or too many packets wait: releases the packet. */
    void discard();
}
