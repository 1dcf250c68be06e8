package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;

import java.io.IOException;

/**
 * The bytes that a socket channel received, and their end: the peer's FIN or the error that ended the connection. Bytes
 * count as read, and open the receive window, when the pipeline gets them. For the loop's thread.
 */
final class StreamInbox extends Inbox<ByteBuf> {
    private final RdmaRawSocketChannel channel;
    private boolean finished;
    private IOException failure;
    private volatile boolean shutdown;
    private boolean endReported;

    StreamInbox(RdmaRawSocketChannel channel) {
        super(channel);
        this.channel = channel;
    }

    @Override
    int bytesOf(ByteBuf piece) {
        return piece.readableBytes();
    }

    /** The receive window bounds what comes. */
    @Override
    boolean hasRoom(ByteBuf piece, int keptMessages, long keptBytes) {
        return true;
    }

    @Override
    void countDropped() {
        // The channel is closed, and the core has reset the connection for it.
    }

    @Override
    void count(int messages, int bytes) {
        // The flow has counted them as they were read.
    }

    @Override
    boolean deliver(ByteBuf piece) {
        // Before the handler sees it: it may close the channel, and unread bytes would then reset the connection.
        channel.flow().read(piece.readableBytes());
        return super.deliver(piece);
    }

    /** Takes what came in, hands it on if the user reads, and then the end if there is one. */
    void receiveFrom(TcpFlow flow) {
        ByteBuf piece;
        while ((piece = flow.poll()) != null) {
            if (shutdown) {
                flow.read(piece.readableBytes());
                piece.release();
            } else {
                receive(piece);
            }
        }
        if (isInBurst()) {
            endBurst();
        }
        if (flow.isPeerFinished()) {
            finished = true;
        }
        if (flow.closeReason() != null && failure == null && !endReported) {
            failure = StreamErrors.ofClose(flow.closeReason());
        }
        reportEnd();
    }

    private void reportEnd() {
        if (!channel.isOpen() || hasBacklog()) {
            return;
        }
        if (failure != null) {
            // As epoll does: an error is told even when nobody reads.
            IOException cause = failure;
            failure = null;
            endReported = true;
            channel.pipeline().fireExceptionCaught(cause);
            closeChannel();
        } else if (finished && !endReported && isReadPending()) {
            reportFinished();
        }
    }

    /** The user's read has found the end, which is a read without a message. */
    private void reportFinished() {
        clearReadPending();
        boolean again = shutdown;
        if (again) {
            endReported = true;
        } else {
            shutdown = channel.config().isAllowHalfClosure();
        }
        channel.pipeline().fireChannelReadComplete();
        if (again) {
            channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
        } else if (shutdown) {
            channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
        } else {
            closeChannel();
        }
    }

    private void closeChannel() {
        channel.unsafe().close(channel.unsafe().voidPromise());
    }

    @Override
    boolean hasMore() {
        return finished && !endReported || failure != null;
    }

    @Override
    void backlogRead() {
        reportEnd();
    }

    boolean isShutdown() {
        return shutdown;
    }

    /** The user wants no more bytes: what is there and what comes is dropped. */
    void shutdown() {
        shutdown = true;
        finished = true;
        int dropped = (int) dropBacklog();
        if (dropped > 0) {
            channel.flow().read(dropped);
        }
        schedule();
    }
}
