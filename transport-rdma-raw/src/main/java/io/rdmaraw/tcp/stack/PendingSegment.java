package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.PendingPacket;

/**
 * A segment, written as a frame, that waits for the MAC address of its next hop.
 *
 * @param frame a copy: slots of the loop are for frames that can be sent
 */
record PendingSegment(TcpStack stack, EventLoop loop, NextHop nextHop, byte[] frame)
        implements PendingPacket {
    @Override
    public void send(long mac) {
        stack.sendResolved(frame, mac);
    }

    @Override
    public void discard() {
        stack.counters().droppedUnresolved++;
    }
}
