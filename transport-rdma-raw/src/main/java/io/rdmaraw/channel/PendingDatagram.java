package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.PendingPacket;
import io.rdmaraw.loop.LoopTasks;

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

    /** This comes on the loop that was asked. The channel may have left it, and its queue is of the loop it is on. */
    @Override
    public void send(long mac) {
        if (channel.eventLoop().inEventLoop()) {
            sendHere(mac);
        } else {
            LoopTasks.executeOrElse(channel.eventLoop(), () -> sendHere(mac), content::release);
        }
    }

    /** It goes after its channel once: one that leaves again meanwhile, or is on no loop, loses it. */
    private void sendHere(long mac) {
        if (channel.isOnThisLoop()) {
            channel.sendResolved(path.resolved(mac), content);
        } else {
            discard();
        }
    }

    @Override
    public void discard() {
        content.release();
        if (channel.eventLoop().inEventLoop()) {
            countDropped();
        } else {
            LoopTasks.executeOrElse(channel.eventLoop(), this::countDropped, () -> { });
        }
    }

    private void countDropped() {
        channel.statistics().droppedUnresolved++;
    }
}
