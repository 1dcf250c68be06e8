package io.rdmaraw.channel;

import io.netty.channel.Channel;

/**
 * Fires accepted connections into the pipeline of a server channel while the user reads, and queues them otherwise.
 * Each child occupies a place of the server's backlog until it is fired or discarded.
 */
final class AcceptInbox extends Inbox<Channel> {
    private final RdmaRawServerSocketChannel server;

    AcceptInbox(RdmaRawServerSocketChannel server) {
        super(server);
        this.server = server;
    }

    @Override
    boolean deliver(Channel child) {
        completeReadRequest();
        server.releaseBacklogPlace();
        return super.deliver(child);
    }

    @Override
    int bytesOf(Channel child) {
        return 0;
    }

    @Override
    boolean hasRoom(Channel child, int queuedMessages, long queuedBytes) {
        // The child already has a place in the backlog.
        return true;
    }

    @Override
    void countDropped() {
        // Children are dropped only when the server closes. The TCP stack counts the connections beyond the backlog.
    }

    @Override
    void discard(Channel child) {
        // Releases the place in the backlog.
        server.releaseBacklogPlace();
        child.unsafe().closeForcibly();
    }

    @Override
    void countReceived(int messages, int bytes) {
        // Each child channel counts its own traffic.
    }
}
