package io.rdmaraw.host;

import java.util.concurrent.ScheduledExecutorService;


/** What waits for the MAC address of its next hop. */
public interface WaitingPacket {
    /** Returns the next hop. */
    NextHop nextHop();

    /** Returns the loop it waits on. */
    ScheduledExecutorService loop();

    /** The address is known: sends it. */
    void send(long mac);

    /** Nobody answers, or others wait already: lets go of it. */
    void discard();
}
