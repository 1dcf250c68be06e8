package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.DatagramPacket;

import java.io.IOException;

/** The datagrams that a channel received; keeps up to {@code SO_RCVBUF} bytes of them while the user does not read. */
final class DatagramInbox extends Inbox<DatagramPacket> {
    /** What a kept datagram counts beside its content, so that empty ones count too. */
    private static final int OVERHEAD_BYTES = 64;

    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private IOException pendingError;

    DatagramInbox(RdmaRawDatagramChannel channel, RdmaRawDatagramStatistics statistics) {
        super(channel);
        this.channel = channel;
        this.statistics = statistics;
    }

    @Override
    int bytesOf(DatagramPacket packet) {
        return packet.content().readableBytes();
    }

    @Override
    boolean hasRoom(DatagramPacket packet, int keptMessages, long keptBytes) {
        return keptBytes + bytesOf(packet) + (keptMessages + 1L) * OVERHEAD_BYTES
                <= channel.config().getReceiveBufferSize();
    }

    @Override
    DatagramPacket copied(DatagramPacket packet) {
        ByteBuf content = packet.content();
        ByteBuf copy = copiedContent(content);
        if (copy == content) {
            return packet;
        }
        statistics.copiedForAllocator++;
        return packet.replace(copy);
    }

    @Override
    void countUnallocated() {
        statistics.droppedUnallocated++;
    }

    @Override
    void countDropped() {
        statistics.droppedBufferFull++;
    }

    @Override
    void count(int messages, int bytes) {
        statistics.receivedDatagrams += messages;
        statistics.receivedBytes += bytes;
    }

    /** Notes an error of the peer's; the next read or write reports it, whichever comes first. */
    void error(IOException error) {
        if (pendingError == null) {
            pendingError = error;
        }
        schedule();
    }

    @Override
    boolean hasMore() {
        return pendingError != null;
    }

    @Override
    void backlogRead() {
        if (pendingError != null) {
            oneRead();
            channel.pipeline().fireChannelReadComplete();
            channel.pipeline().fireExceptionCaught(takeError());
        }
    }

    /** Returns the error that waits to be reported, which is then reported; or null. */
    IOException takeError() {
        IOException error = pendingError;
        pendingError = null;
        return error;
    }

    @Override
    int close() {
        int dropped = super.close();
        statistics.droppedAtClose += dropped;
        return dropped;
    }
}
