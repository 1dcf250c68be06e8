package io.rdmaraw.channel;

import io.netty.channel.Channel;

/** The connections that a server channel accepted; they wait here while the user does not read. */
final class AcceptInbox extends Inbox<Channel> {
    private final RdmaRawServerSocketChannel server;

    AcceptInbox(RdmaRawServerSocketChannel server) {
        super(server);
        this.server = server;
    }

    @Override
    boolean deliver(Channel child) {
        server.accepted();
        return super.deliver(child);
    }

    @Override
    int bytesOf(Channel child) {
        return 0;
    }

    @Override
    boolean hasRoom(Channel child, int keptMessages, long keptBytes) {
        return true;
    }

    @Override
    void countDropped() {
        // Refused connections are counted by the stack, before they have a channel.
    }

    @Override
    void discard(Channel child) {
        server.accepted();
        child.unsafe().closeForcibly();
    }

    @Override
    void count(int messages, int bytes) {
        // Nothing to add: each child counts for itself.
    }
}
