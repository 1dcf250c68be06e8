package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;

/**
 * A datagram that waits for the MAC address of its next hop.
 *
 * @param channel who sends it
 * @param path the way, without the MAC address
 * @param content its own reference
 */
record WaitingDatagram(RdmaRawDatagramChannel channel, DatagramPath path, ByteBuf content) {
    void send(long mac) {
        channel.sendResolved(path.resolved(mac), content);
    }

    void discard() {
        channel.statistics().droppedUnresolved++;
        content.release();
    }
}
