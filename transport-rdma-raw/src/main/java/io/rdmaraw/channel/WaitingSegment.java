package io.rdmaraw.channel;

import io.netty.channel.EventLoop;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.WaitingPacket;
import io.rdmaraw.memory.FrameBuf;

/**
 * A segment, written as a frame, that waits for the MAC address of its next hop.
 *
 * @param frame its own reference
 */
record WaitingSegment(TcpStack stack, EventLoop loop, NextHop nextHop, FrameBuf frame)
        implements WaitingPacket {
    @Override
    public void send(long mac) {
        stack.sendResolved(frame, mac);
    }

    @Override
    public void discard() {
        stack.counters().droppedUnresolved++;
        frame.release();
    }
}
