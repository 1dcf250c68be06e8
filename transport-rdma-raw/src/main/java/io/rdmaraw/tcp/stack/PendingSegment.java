package io.rdmaraw.tcp.stack;

import io.netty.channel.EventLoop;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.PendingPacket;

/**
 * A segment, encoded as a frame, that waits for the MAC address of its next hop.
 *
 * @param frame a copy on the heap, because the loop's slots are reserved for frames that can be sent
 */
record PendingSegment(TcpStack stack, EventLoop loop, NextHop nextHop, byte[] frame)
        implements PendingPacket {
    @Override
    public void send(long mac) {
        stack.sendResolved(frame, mac);
    }

    @Override
    public void discard() {
        stack.statistics().droppedUnresolved++;
    }
}
