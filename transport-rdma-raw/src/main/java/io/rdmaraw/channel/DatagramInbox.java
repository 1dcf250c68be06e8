package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.udp.DatagramCounters;
import io.rdmaraw.udp.DatagramSink;

import java.io.IOException;

/** Queues received datagrams while the user does not read, up to {@code SO_RCVBUF} bytes. */
final class DatagramInbox extends Inbox<DatagramPacket> implements DatagramSink {
    /** Overhead charged per queued datagram, so that empty datagrams also count. */
    private static final int OVERHEAD_BYTES = 64;

    private final RdmaRawDatagramChannel channel;
    private final DatagramCounters counters;
    private IOException pendingError;

    DatagramInbox(RdmaRawDatagramChannel channel, DatagramCounters counters) {
        super(channel);
        this.channel = channel;
        this.counters = counters;
    }

    @Override
    int bytesOf(DatagramPacket packet) {
        return packet.content().readableBytes();
    }

    @Override
    boolean hasRoom(DatagramPacket packet, int queuedMessages, long queuedBytes) {
        return queuedBytes + bytesOf(packet) + (queuedMessages + 1L) * OVERHEAD_BYTES
                <= channel.config().getReceiveBufferSize();
    }

    @Override
    DatagramPacket copyForUser(DatagramPacket packet) {
        ByteBuf content = packet.content();
        ByteBuf copy = copyContentForUser(content);
        if (copy == content) {
            return packet;
        }
        counters.copiedForAllocator++;
        return packet.replace(copy);
    }

    @Override
    void countAllocationFailure() {
        counters.droppedUnallocated++;
    }

    @Override
    void countDropped() {
        counters.droppedNotRead++;
    }

    @Override
    void countReceived(int messages, int bytes) {
        counters.receivedDatagrams += messages;
        counters.receivedBytes += bytes;
    }

    @Override
    public void storeError(IOException error) {
        if (pendingError == null) {
            pendingError = error;
        }
        scheduleDelivery();
    }

    @Override
    boolean hasPendingError() {
        return pendingError != null;
    }

    @Override
    void reportPendingError() {
        if (pendingError != null) {
            completeReadRequest();
            channel.pipeline().fireChannelReadComplete();
            channel.pipeline().fireExceptionCaught(pollError());
        }
    }

    @Override
    public IOException pollError() {
        IOException error = pendingError;
        pendingError = null;
        return error;
    }

    @Override
    int close() {
        int dropped = super.close();
        counters.droppedAtClose += dropped;
        return dropped;
    }
}
