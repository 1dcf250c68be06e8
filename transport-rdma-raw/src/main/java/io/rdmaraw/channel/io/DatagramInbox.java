package io.rdmaraw.channel.io;

import io.netty.buffer.ByteBuf;
import io.netty.channel.AbstractChannel;
import io.netty.channel.socket.DatagramChannelConfig;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.udp.DatagramCounters;
import io.rdmaraw.udp.DatagramSink;

import java.io.IOException;

/** Queues received datagrams while the user does not read, up to {@code SO_RCVBUF} bytes. */
public final class DatagramInbox extends Inbox<DatagramPacket> implements DatagramSink {
    /** Overhead charged per queued datagram, so that empty datagrams also count. */
    private static final int OVERHEAD_BYTES = 64;

    private final AbstractChannel channel;
    private final DatagramChannelConfig config;
    private final DatagramCounters counters;
    private IOException pendingError;

    public DatagramInbox(AbstractChannel channel, DatagramChannelConfig config, ReadSettings settings,
            DatagramCounters counters) {
        super(channel, settings);
        this.channel = channel;
        this.config = config;
        this.counters = counters;
    }

    @Override
    protected int bytesOf(DatagramPacket packet) {
        return packet.content().readableBytes();
    }

    @Override
    protected boolean hasRoom(DatagramPacket packet, int queuedMessages, long queuedBytes) {
        return queuedBytes + bytesOf(packet) + (queuedMessages + 1L) * OVERHEAD_BYTES
                <= config.getReceiveBufferSize();
    }

    @Override
    protected DatagramPacket copyForUser(DatagramPacket packet) {
        ByteBuf content = packet.content();
        ByteBuf copy = copyContentForUser(content);
        if (copy == content) {
            return packet;
        }
        counters.copiedForAllocator++;
        return packet.replace(copy);
    }

    @Override
    protected void countAllocationFailure() {
        counters.droppedUnallocated++;
    }

    @Override
    protected void countDropped() {
        counters.droppedNotRead++;
    }

    @Override
    protected void countReceived(int messages, int bytes) {
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
    protected boolean hasPendingError() {
        return pendingError != null;
    }

    @Override
    protected void reportPendingError() {
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
    public int close() {
        int dropped = super.close();
        counters.droppedAtClose += dropped;
        return dropped;
    }
}
