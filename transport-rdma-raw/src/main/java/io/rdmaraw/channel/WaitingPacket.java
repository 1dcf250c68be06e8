package io.rdmaraw.channel;

import io.netty.channel.EventLoop;

/** What waits for the MAC address of its next hop. */
interface WaitingPacket {
    /** Returns the next hop. */
    DatagramPath.NextHop nextHop();

    /** Returns the loop it waits on. */
    EventLoop loop();

    /** The address is known: sends it. */
    void send(long mac);

    /** Nobody answers, or others wait already: lets go of it. */
    void discard();
}
