package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.NextHop;
import io.rdmaraw.host.PendingPacket;
import io.rdmaraw.loop.LoopTasks;

import java.util.concurrent.ScheduledExecutorService;

/**
 * A datagram that waits for the MAC address of its next hop.
 *
 * @param endpoint endpoint that sends the datagram
 * @param path path without the MAC address
 * @param content copy of the payload, because the user's buffer may be a received slot
 */
record PendingDatagram(DatagramEndpoint endpoint, DatagramPath path, ByteBuf content) implements PendingPacket {
    @Override
    public NextHop nextHop() {
        return path.nextHopOrNull();
    }

    @Override
    public ScheduledExecutorService loop() {
        return endpoint.channel().eventLoop();
    }

    /**
     * Sends the datagram with the resolved MAC address. Called on the loop that resolved it. The channel may have moved
     * to another loop, and only that loop may use its queue.
     */
    @Override
    public void send(long mac) {
        if (endpoint.channel().eventLoop().inEventLoop()) {
            sendOnCurrentLoop(mac);
        } else {
            LoopTasks.executeOrElse(endpoint.channel().eventLoop(), () -> sendOnCurrentLoop(mac), content::release);
        }
    }

    /** Sends the datagram on the current loop. Drops it if the channel has moved again or is on no loop. */
    private void sendOnCurrentLoop(long mac) {
        if (endpoint.isRegisteredAndInEventLoop()) {
            endpoint.sendResolved(path.resolved(mac), content);
        } else {
            discard();
        }
    }

    @Override
    public void discard() {
        content.release();
        if (endpoint.channel().eventLoop().inEventLoop()) {
            countDropped();
        } else {
            LoopTasks.executeOrElse(endpoint.channel().eventLoop(), this::countDropped, () -> { });
        }
    }

    private void countDropped() {
        endpoint.counters().droppedUnresolved++;
    }
}
