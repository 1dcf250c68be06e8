package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.PendingPacket;

import java.util.concurrent.ScheduledExecutorService;

/**
 * A datagram that waits for the MAC address of its next hop.
 *
 * @param channel who sends it
 * @param path the way, without the MAC address
 * @param content its own reference, to a copy: what a user sends can be the slot that brought it
 */
record PendingDatagram(RdmaRawDatagramChannel channel, DatagramPath path, ByteBuf content) implements PendingPacket {
    @Override
    public NextHop nextHop() {
        return path.nextHopOrNull();
    }

    @Override
    public ScheduledExecutorService loop() {
        return channel.eventLoop();
    }

    @Override
    public void send(long mac) {
        channel.sendResolved(path.resolved(mac), content);
    }

    @Override
    public void discard() {
        channel.statistics().droppedUnresolved++;
        content.release();
    }
}
