package io.rdmaraw.channel;

import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.DatagramPacket;

import java.io.IOException;
import java.util.ArrayDeque;

/**
 * Hands received datagrams to the pipeline when the user reads, and keeps them, up to {@code SO_RCVBUF} bytes, when he
 * does not. For the loop's thread.
 */
final class DatagramInbox {
    /** What a kept datagram counts beside its content, so that empty ones count too. */
    private static final int OVERHEAD_BYTES = 64;

    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private final ArrayDeque<DatagramPacket> backlog = new ArrayDeque<>();
    private int backlogBytes;
    private boolean readPending;
    private boolean backlogScheduled;
    private boolean inBurst;
    private int burstDatagrams;
    private int burstBytes;
    private IOException pendingError;

    DatagramInbox(RdmaRawDatagramChannel channel, RdmaRawDatagramStatistics statistics) {
        this.channel = channel;
        this.statistics = statistics;
    }

    /** Takes a datagram; returns true for the first that is handed on since {@link #endBurst()}. */
    boolean receive(DatagramPacket packet) {
        if (!readPending || backlogScheduled && !inBurst) {
            keep(packet);
            return false;
        }
        return fire(packet);
    }

    private boolean fire(DatagramPacket packet) {
        boolean first = !inBurst;
        inBurst = true;
        burstDatagrams++;
        burstBytes += packet.content().readableBytes();
        if (!channel.config().isAutoRead()) {
            readPending = false;
        }
        channel.pipeline().fireChannelRead(packet);
        return first;
    }

    private void keep(DatagramPacket packet) {
        int cost = packet.content().readableBytes() + OVERHEAD_BYTES;
        if (channel.isOpen() && backlogBytes + cost <= channel.config().getReceiveBufferSize()) {
            backlog.add(packet);
            backlogBytes += cost;
        } else {
            statistics.droppedBufferFull++;
            packet.release();
        }
    }

    boolean isInBurst() {
        return inBurst;
    }

    void endBurst() {
        inBurst = false;
        reportRead();
        statistics.receivedDatagrams += burstDatagrams;
        statistics.receivedBytes += burstBytes;
        burstDatagrams = 0;
        burstBytes = 0;
        channel.pipeline().fireChannelReadComplete();
    }

    /** Receive buffers are posted beforehand, so the allocator's handle is only told what came. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private void reportRead() {
        RecvByteBufAllocator.Handle handle = channel.unsafe().recvBufAllocHandle();
        handle.reset(channel.config());
        handle.incMessagesRead(burstDatagrams);
        handle.lastBytesRead(burstBytes);
        handle.readComplete();
    }

    /** The user reads. */
    void beginRead() {
        readPending = true;
        schedule();
    }

    void stopReading() {
        readPending = false;
    }

    private void schedule() {
        if ((!backlog.isEmpty() || pendingError != null) && !backlogScheduled) {
            backlogScheduled = true;
            channel.eventLoop().execute(this::readBacklog);
        }
    }

    private void readBacklog() {
        backlogScheduled = false;
        while (readPending && !backlog.isEmpty()) {
            DatagramPacket packet = backlog.poll();
            backlogBytes -= packet.content().readableBytes() + OVERHEAD_BYTES;
            fire(packet);
        }
        if (inBurst) {
            endBurst();
        }
        if (readPending && pendingError != null) {
            if (!channel.config().isAutoRead()) {
                readPending = false;
            }
            channel.pipeline().fireChannelReadComplete();
            channel.pipeline().fireExceptionCaught(takeError());
        }
    }

    /** Notes an error of the peer's; the next read or write reports it, whichever comes first. */
    void error(IOException error) {
        if (pendingError == null) {
            pendingError = error;
        }
        if (readPending) {
            schedule();
        }
    }

    /** Returns the error that waits to be reported, which is then reported; or null. */
    IOException takeError() {
        IOException error = pendingError;
        pendingError = null;
        return error;
    }

    void close() {
        readPending = false;
        statistics.droppedAtClose += backlog.size();
        for (DatagramPacket packet = backlog.poll(); packet != null; packet = backlog.poll()) {
            packet.release();
        }
        backlogBytes = 0;
    }
}
