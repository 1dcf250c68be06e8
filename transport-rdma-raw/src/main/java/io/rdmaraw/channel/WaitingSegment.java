package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.WaitingPacket;

/**
 * A segment, written as a frame, that waits for the MAC address of its next hop.
 *
 * @param frame a copy: slots of the loop are for frames that can be sent
 */
record WaitingSegment(TcpStack stack, EventLoop loop, NextHop nextHop, byte[] frame)
        implements WaitingPacket {
    @Override
    public void send(long mac) {
        stack.sendResolved(frame, mac);
    }

    @Override
    public void discard() {
        stack.counters().droppedUnresolved++;
    }
}
